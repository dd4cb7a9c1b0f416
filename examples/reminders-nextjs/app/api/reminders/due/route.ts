import { next } from "@punctual-dev/client/next";
import { Receiver } from "@punctual-dev/client/receiver";

interface Reminder {
  to: string;
  text: string;
}

const receiver = new Receiver({ secrets: process.env.PUNCTUAL_SIGNING_SECRET ?? "" });

/** The service calls this when a reminder is due. A repeat does not get here. */
export const { POST } = next(
  receiver.job<Reminder>(({ body }) => {
    console.log(`reminder for ${body.to}: ${body.text}`); // send your e-mail or push message here
  }),
);
