import { Punctual, PunctualError } from "@punctual-dev/client";

export interface Reminder {
  to: string;
  text: string;
}

/** POST {"to", "text", "at"}: schedules a reminder. */
export async function POST(request: Request): Promise<Response> {
  const { to, text, at } = (await request.json()) as Reminder & { at: string };
  const punctual = new Punctual(); // PUNCTUAL_URL and PUNCTUAL_API_KEY
  try {
    const job = await punctual.jobs.create({
      url: `${process.env.APP_URL}/api/reminders/due`,
      method: "POST",
      body: { to, text } satisfies Reminder,
      scheduled_at: at,
      tags: ["reminder"],
    });
    return Response.json({ id: job.job_id, at: job.job.scheduled_at }, { status: 201 });
  } catch (error) {
    if (error instanceof PunctualError && error.code === "invalid_request") {
      return Response.json({ error: error.detail }, { status: 422 });
    }
    throw error;
  }
}
