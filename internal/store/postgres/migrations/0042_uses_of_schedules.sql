-- The first runs of schedules that PUT and apply have created are registered with the
-- secrets and limits that they name. The arguments of a run may be packed, those of its
-- schedule are not. An item that limits do not hold yet is held when it is read for
-- firing; held_due makes its places go with it.

-- uses_of reads what arguments name. What can't be read names nothing: the next run is
-- registered. The keys of limits are written as job.LimitKey does, but for hosts that
-- are not in ASCII.
CREATE FUNCTION uses_of(args text, OUT headers text, OUT keys text[]) LANGUAGE plpgsql AS $$
DECLARE
    definition json;
BEGIN
    definition := replace(args, '\u0000', '\ufffd')::json;
    headers := (definition -> 'headers')::text;
    IF json_typeof(definition -> 'limits') = 'array' THEN
        keys := ARRAY(SELECT DISTINCT CASE
            WHEN starts_with(l.key, 'host:') THEN 'host:' || regexp_replace(lower(trim('[]' FROM substr(l.key, 6))), '\.$', '')
            ELSE l.key END FROM json_array_elements_text(definition -> 'limits') l (key));
    END IF;
EXCEPTION WHEN data_exception THEN
    headers := NULL;
    keys := NULL;
END $$;

-- All is read before the first row is locked.
WITH named AS MATERIALIZED (
    SELECT j.account, j.number, j.due_at, u.headers, u.keys
    FROM schedules s JOIN jobs j ON j.account = s.account AND j.key = s.key AND j.schedule_id = s.id AND j.state <= 2
    CROSS JOIN LATERAL uses_of(CASE WHEN j.packed IS NULL THEN j.args ELSE s.args END) u
    WHERE s.key IS NOT NULL AND (strpos(s.args, '"limits"') > 0 OR strpos(s.args, 'secret.') > 0)
), secrets AS (
    INSERT INTO secret_uses (account, name, job)
        SELECT n.account, h.name, n.number FROM named n JOIN header_secrets h
        ON h.account = n.account AND strpos(n.headers, '{{secret.' || h.name || '}}') > 0
        ON CONFLICT DO NOTHING
), held AS (
    UPDATE runs r SET held_due = r.due FROM named n
    WHERE n.keys IS NOT NULL AND NOT EXISTS (SELECT FROM limit_items i WHERE i.account = n.account AND i.number = n.number)
        AND r.due = n.due_at AND r.kind = 0 AND r.number = n.number AND r.account = n.account AND r.node = 0 AND r.start_by IS NULL
    RETURNING n.account, n.number, n.due_at, n.keys
)
INSERT INTO limit_items (account, number, key, state, due, named)
    SELECT account, number, unnest(keys), 0, due_at, true FROM held;

DROP FUNCTION uses_of(text);
