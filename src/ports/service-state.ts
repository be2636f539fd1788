/**
 * State of the service outside the log: keys, key usage and jobs. None of it is an event. All processes that use one
 * database share it.
 */

/** The roles that a key can have. */
export const ROLES = ['append', 'read', 'audit', 'operate'] as const
/** A role of a key. */
export type Role = (typeof ROLES)[number]

/** The conversations that a key can access: those of one scope, those whose id has a prefix, or all if undefined. */
export type Bound = { readonly scope: string } | { readonly prefix: string } | undefined

/** A stored key, without its secret. */
export interface KeyRecord {
  readonly id: string
  /** Name chosen by its owner. */
  readonly name: string
  /** HMAC-SHA-256 of its secret, in hex. */
  readonly hash: string
  /** Hash of the secret before the last rotation, and until when that secret is accepted. */
  readonly previous: { readonly hash: string; readonly until: string } | undefined
  readonly roles: readonly Role[]
  readonly bound: Bound
  readonly createdAt: string
  readonly rotatedAt: string | undefined
  readonly revokedAt: string | undefined
}

/** One use of a key, or a request without a valid key. */
export interface KeyUse {
  readonly at: string
  /** Undefined if the request had no known key. */
  readonly keyId: string | undefined
  /** The route's name in the API's description. */
  readonly route: string
  readonly conversationId: string | undefined
  readonly status: number
  readonly requestId: string
}

/** Keys and key usage. */
export interface KeyStore {
  /** Adds a key. */
  add(key: Pick<KeyRecord, 'id' | 'name' | 'hash' | 'roles' | 'bound'>): Promise<void>
  /** Finds a key, including a revoked one. */
  find(id: string): Promise<KeyRecord | undefined>
  /** All keys, newest first. */
  list(): Promise<readonly KeyRecord[]>
  /** Whether any key was ever created, including revoked ones. */
  hasAny(): Promise<boolean>
  /** Sets a new secret. The current one is accepted for `graceSeconds`. Returns false if there is no such active key. */
  rotate(id: string, hash: string, graceSeconds: number): Promise<boolean>
  /** Returns false if there is no such active key. */
  revoke(id: string): Promise<boolean>
  /** Adds key uses and deletes the oldest ones, so that at most `most` remain. */
  addUses(uses: readonly KeyUse[], most: number): Promise<void>
  /** Key uses, newest first, after the cursor `before` (the last position of the previous page). */
  uses(page: {
    readonly limit: number
    readonly before?: string
  }): Promise<readonly (KeyUse & { readonly place: string })[]>
}

/** The state of a job. `lost`: the process that ran it ended. */
export type JobState = 'running' | 'succeeded' | 'failed' | 'cancelled' | 'lost'

/** A stored job. `progress`, `result` and `problem` are JSON texts. */
export interface JobRecord {
  readonly id: string
  readonly kind: string
  /** The key that created it; undefined if the service needs no keys. */
  readonly keyId: string | undefined
  readonly conversationId: string | undefined
  readonly state: JobState
  readonly progress: string | undefined
  readonly result: string | undefined
  readonly problem: string | undefined
  readonly createdAt: string
  readonly endedAt: string | undefined
}

/** The jobs of all processes. */
export interface JobStore {
  add(job: Pick<JobRecord, 'id' | 'kind' | 'keyId' | 'conversationId'>, aliveForMs: number): Promise<void>
  /** Records progress and that the process is alive. Returns whether the job was cancelled. */
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
  /** Newest first, without their results. */
  list(page: { readonly limit: number; readonly keyId?: string | undefined }): Promise<readonly JobRecord[]>
  /** Requests that its process ends it. Returns false if it has already ended. */
  cancel(id: string): Promise<boolean>
  /** Deletes the oldest ended jobs, so that at most `most` remain. */
  forget(most: number): Promise<void>
}
