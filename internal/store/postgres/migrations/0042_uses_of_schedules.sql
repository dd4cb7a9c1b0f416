-- The first runs of schedules that PUT and apply have created are registered with the
-- secrets and limits that they name. The arguments of a run may be packed, those of its
-- schedule are not. An item that limits do not hold yet is held when it is read for
-- firing; held_due makes its places go with it.
DO $$
DECLARE
    r record;
    definition json;
BEGIN
    FOR r IN
        SELECT j.account, j.number, j.due_at, CASE WHEN j.packed IS NULL THEN j.args ELSE s.args END AS args
        FROM schedules s JOIN jobs j ON j.account = s.account AND j.key = s.key AND j.schedule_id = s.id AND j.state <= 2
        WHERE s.key IS NOT NULL AND (strpos(s.args, '"limits"') > 0 OR strpos(s.args, 'secret.') > 0)
    LOOP
        BEGIN
            definition := replace(r.args, '\u0000', '\ufffd')::json;
            INSERT INTO secret_uses (account, name, job)
                SELECT r.account, h.name, r.number FROM header_secrets h
                WHERE h.account = r.account AND strpos((definition -> 'headers')::text, '{{secret.' || h.name || '}}') > 0
                ON CONFLICT DO NOTHING;
            CONTINUE WHEN json_typeof(definition -> 'limits') IS DISTINCT FROM 'array'
                OR EXISTS (SELECT FROM limit_items i WHERE i.account = r.account AND i.number = r.number);
            UPDATE runs SET held_due = due
                WHERE due = r.due_at AND kind = 0 AND number = r.number AND account = r.account AND node = 0 AND start_by IS NULL;
            IF FOUND THEN
                INSERT INTO limit_items (account, number, key, state, due, named)
                    SELECT DISTINCT r.account, r.number, l.key, 0, r.due_at, true FROM json_array_elements_text(definition -> 'limits') l (key);
            END IF;
        EXCEPTION WHEN data_exception THEN
            NULL; -- its next run is registered
        END;
    END LOOP;
END $$;
