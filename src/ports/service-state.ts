/**
 * What the service keeps beside the log: keys, their uses, and jobs. None of it is a fact; all processes over one
 * database see the same.
 */

/** What a key may be used for. */
export const ROLES = ['append', 'read', 'audit', 'operate'] as const
/** What a key may be used for. */
export type Role = (typeof ROLES)[number]

/** What a key is bound to: conversations of one scope, or those whose id begins with a prefix; undefined: all. */
export type Bound = { readonly scope: string } | { readonly prefix: string } | undefined

/** A key as it is kept: never its secret. */
export interface KeyRecord {
  readonly id: string
  /** What its owner calls it. */
  readonly name: string
  /** HMAC-SHA-256 of its secret, in hex. */
  readonly hash: string
  /** The one before a rotation, and until when that is let in as well. */
  readonly previous: { readonly hash: string; readonly until: string } | undefined
  readonly roles: readonly Role[]
  readonly bound: Bound
  readonly createdAt: string
  readonly rotatedAt: string | undefined
  readonly revokedAt: string | undefined
}

/** One use of a key, or an attempt without a good one. */
export interface KeyUse {
  readonly at: string
  /** Undefined where no key was known by what was given. */
  readonly keyId: string | undefined
  /** The route's name in the API's description. */
  readonly route: string
  readonly conversationId: string | undefined
  readonly status: number
  readonly requestId: string
}

/** Keys and their uses. */
export interface KeyStore {
  /** Adds a key. */
  add(key: Pick<KeyRecord, 'id' | 'name' | 'hash' | 'roles' | 'bound'>): Promise<void>
  /** The key with this id, revoked ones too. */
  find(id: string): Promise<KeyRecord | undefined>
  /** All keys, the newest first. */
  list(): Promise<readonly KeyRecord[]>
  /** Whether there ever was a key; one that is revoked counts. */
  hasAny(): Promise<boolean>
  /** Gives a key another secret; the one of now is let in for `graceSeconds` more. False where no such key is in use. */
  rotate(id: string, hash: string, graceSeconds: number): Promise<boolean>
  /** False where no such key is in use. */
  revoke(id: string): Promise<boolean>
  /** Adds uses and forgets the oldest ones beyond `most`. */
  addUses(uses: readonly KeyUse[], most: number): Promise<void>
  /** Uses, the newest first; behind `before`, the place of an earlier page's last one. */
  uses(page: {
    readonly limit: number
    readonly before?: string
  }): Promise<readonly (KeyUse & { readonly place: string })[]>
}

/** How far a job is: `lost` where the process that had it ended. */
export type JobState = 'running' | 'succeeded' | 'failed' | 'cancelled' | 'lost'

/** A job as it is kept; progress, result and problem are JSON texts. */
export interface JobRecord {
  readonly id: string
  readonly kind: string
  /** Key that asked for it; undefined where none was needed. */
  readonly keyId: string | undefined
  readonly conversationId: string | undefined
  readonly state: JobState
  readonly progress: string | undefined
  readonly result: string | undefined
  readonly problem: string | undefined
  readonly createdAt: string
  readonly endedAt: string | undefined
}

/** Jobs, whichever process has them. */
export interface JobStore {
  add(job: Pick<JobRecord, 'id' | 'kind' | 'keyId' | 'conversationId'>, aliveForMs: number): Promise<void>
  /** Notes how far it is and that its process is there; resolves to whether it is to end. */
  beat(id: string, progress: string | undefined, aliveForMs: number): Promise<{ readonly isCancelled: boolean }>
  end(
    id: string,
    outcome: {
      readonly state: Exclude<JobState, 'running' | 'lost'>
      readonly result?: string
      readonly problem?: string
      readonly progress?: string | undefined
    },
  ): Promise<void>
  find(id: string): Promise<JobRecord | undefined>
  /** The newest first, without their results. */
  list(page: { readonly limit: number; readonly keyId?: string | undefined }): Promise<readonly JobRecord[]>
  /** Asks its process to end it; false where it has ended. */
  cancel(id: string): Promise<boolean>
  /** Forgets ended jobs, the oldest beyond `most`. */
  forget(most: number): Promise<void>
}
