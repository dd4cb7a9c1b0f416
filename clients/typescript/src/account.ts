import type { Call } from "./call.js";
import { nothing, start, whole } from "./call.js";
import type { AccountAnswer, ApiKey, AuditEntry, InvitationAnswer, KeyAnswer, Member, MemberChange, NewMember, PunctualityAnswer, SecretList, StatsResponse } from "./generated.js";
import type { List } from "./list.js";
import { Resource, segment } from "./resource.js";
import type { CallOptions } from "./transport.js";
import type { NewApiKey, Paging } from "./types.js";

const account = "/api/account";

/** The account that the key belongs to. */
export class Account extends Resource {
  /** Its limits and how much of them is used. */
  get(options?: CallOptions): Call<AccountAnswer["data"]> {
    return this.call("GET", account, options);
  }

  keys(options?: CallOptions): Call<ApiKey[]> {
    return this.call("GET", `${account}/keys`, options);
  }

  /** Creates a key, which is shown this once. */
  createKey(key: NewApiKey = {}, options?: CallOptions): Call<KeyAnswer["data"]> {
    return this.once("POST", `${account}/keys`, options, { body: key });
  }

  revokeKey(id: string, options?: CallOptions): Call<void> {
    return start(this.transport, { method: "DELETE", path: segment(`${account}/keys`, id), repeatable: true }, options, nothing);
  }

  /** The persons and invitations of the account, ordered by email. */
  members(query: Pick<Paging, "limit"> = {}, options?: CallOptions): List<Member> {
    return this.listOf(`${account}/members`, query, options);
  }

  /** Invites a person; the link in the answer is shown this once. */
  inviteMember(member: NewMember, options?: CallOptions): Call<InvitationAnswer["data"]> {
    return this.once("POST", `${account}/members`, options, { body: member });
  }

  /** Changes the role of a person or an invitation. */
  changeMember(id: string, change: MemberChange, options?: CallOptions): Call<Member> {
    return this.call("PATCH", segment(`${account}/members`, id), options, { body: change });
  }

  /** Removes a person, or withdraws an invitation. */
  removeMember(id: string, options?: CallOptions): Call<void> {
    return start(this.transport, { method: "DELETE", path: segment(`${account}/members`, id), repeatable: true }, options, nothing);
  }

  /** The secrets that sign, newest first. */
  signingSecrets(options?: CallOptions): Call<SecretList["data"]> {
    return this.call("GET", `${account}/signing-secrets`, options);
  }

  /** Adds a signing secret; the old one signs too for 24 hours. */
  rotateSigningSecret(options?: CallOptions): Call<SecretList["data"]> {
    return this.once("POST", `${account}/signing-secrets/rotate`, options);
  }

  /** Sign-ins, keys and operator actions, the latest first. */
  audit(query: Pick<Paging, "limit" | "cursor"> & { event?: string } = {}, options?: CallOptions): List<AuditEntry> {
    return this.listOf(`${account}/audit`, query, options);
  }

  /** Attempts, lateness and durations for each of the last 1 to 1440 minutes. */
  stats(minutes = 60, options?: CallOptions): Call<StatsResponse> {
    return start(this.transport, { method: "GET", path: "/api/stats", query: { minutes }, repeatable: true }, options, whole<StatsResponse>);
  }

  /** How late the jobs of all accounts began in the last hour, day and week. */
  punctuality(options?: CallOptions): Call<PunctualityAnswer["data"]> {
    return this.call("GET", "/api/punctuality", options);
  }
}
