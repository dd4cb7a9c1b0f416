-- Each tag is deleted by its whole key. With all tags in one statement, the planner
-- may read all tags of an account that it takes for empty.
CREATE OR REPLACE FUNCTION keep_job_tags() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    one text;
BEGIN
    IF TG_OP <> 'INSERT' AND OLD.tags IS NOT NULL THEN
        FOREACH one IN ARRAY OLD.tags LOOP
            DELETE FROM job_tags t WHERE t.account = OLD.account AND t.tag = one AND t.number = OLD.number;
        END LOOP;
    END IF;
    IF TG_OP <> 'DELETE' THEN
        INSERT INTO job_tags (account, tag, number) SELECT NEW.account, tag, NEW.number FROM unnest(NEW.tags) AS tag;
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION keep_schedule_tags() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    one text;
BEGIN
    IF TG_OP <> 'INSERT' AND OLD.tags IS NOT NULL THEN
        FOREACH one IN ARRAY OLD.tags LOOP
            DELETE FROM schedule_tags t WHERE t.account = OLD.account AND t.tag = one AND t.id = OLD.id;
        END LOOP;
    END IF;
    IF TG_OP <> 'DELETE' THEN
        INSERT INTO schedule_tags (account, tag, id) SELECT NEW.account, tag, NEW.id FROM unnest(NEW.tags) AS tag;
    END IF;
    RETURN NULL;
END $$;
