/** Authentication and authorization of requests. Conversations outside a key's bound are reported as nonexistent. */
import { LRUCache } from 'lru-cache'
import { isSessionIdOfOther, PROXY_SEGMENT } from '../../domain/values/session-ids.js'
import { KEY_ACTOR } from '../../domain/values/key-actor.js'
import type { Bound, KeyRecord, Role } from '../../ports/service-state.js'
import type { Ledger } from '../../library/ledger.js'
import { programs } from '../../library/transcripts.js'
import { kindOf } from '../../library/problem.js'
import type { Route } from '../../schema/route.js'
import { hiddenPositions, PLAIN_POSITIONS, type Positions } from './positions.js'
import { Refused } from './problems.js'

/** The identity of a request. */
export interface Access {
  /** Undefined where no key is needed. */
  readonly keyId: string | undefined
  readonly roles: readonly Role[]
  readonly bound: Bound
  /** Recorded with everything that the request records; undefined: the ledger's own. */
  readonly actor: string | undefined
  /** Encodes the positions in answers to this caller. */
  readonly positions: Positions
  /** Whether the key is still accepted: an answer that goes on for long checks it again. */
  isCurrent(): Promise<boolean>
}

/** Access without a key: this machine may use everything. */
export const EVERYTHING: Access = {
  keyId: undefined,
  roles: ['append', 'read', 'audit', 'operate'],
  bound: undefined,
  actor: undefined,
  positions: PLAIN_POSITIONS,
  isCurrent: () => Promise.resolve(true),
}

/** Access by a key. */
export const accessOf = (
  { id, name, roles, bound }: KeyRecord,
  pepper: string,
  isCurrent: Access['isCurrent'],
): Access => ({
  keyId: id,
  roles,
  bound,
  actor: `${KEY_ACTOR}${name}`,
  positions: bound === undefined ? PLAIN_POSITIONS : hiddenPositions(pepper),
  isCurrent,
})

/** The key in a request, if there is one. */
export function keyGiven(headers: Headers, header: string): string | undefined {
  const given = headers.get(header)
  if (given === null) return undefined
  const [, bearer] = /^bearer\s+(\S+)$/iu.exec(given) ?? []
  if (bearer !== undefined) return bearer
  return header === 'authorization' ? undefined : given
}

/** Throws if the key has none of the route's roles. */
export function checkRoles(access: Access, { roles, reach }: Pick<Route, 'roles' | 'reach'>): void {
  if (!roles.some((role) => access.roles.includes(role)))
    throw new Refused('RoleMissing', `this takes a key with the role ${roles.join(' or ')}`, { roles })
  if (reach === 'ledger' && access.bound !== undefined)
    throw new Refused(
      'KeyBound',
      'this is about the whole ledger, and the key is bound to a part of it: ask about one conversation',
    )
}

const notThere = (conversationId: string): Refused =>
  // The ledger's own sentence, so that another tenant's conversation looks like one that does not exist.
  new Refused('NoSuchConversation', `there is no conversation "${conversationId}" in this ledger`, { conversationId })

const notYours = (conversationId: string): Refused =>
  new Refused(
    'KeyBound',
    `the id "${conversationId}" is one that sessions of a program get in another scope: choose an id without "${conversationId.split('/')[0] ?? ''}/" at its beginning`,
    { field: 'conversation' },
  )

/** The scope of what is recorded, within what the key is bound to. */
export function scopeWithin({ bound }: Access, scope: string | undefined): string | undefined {
  if (bound === undefined) return scope
  if ('prefix' in bound) {
    if (scope === undefined) return undefined
    throw new Refused('KeyBound', 'the key is bound to a prefix of ids, and names no scope', { field: 'scope' })
  }
  if (scope !== undefined && scope !== bound.scope)
    throw new Refused('KeyBound', 'the key is bound to another scope', { field: 'scope' })
  return bound.scope
}

/** First segments of the ids that the ledger gives to sessions of other programs. */
const SESSION_SEGMENTS: ReadonlySet<string> = new Set([...programs(), PROXY_SEGMENT])

/** Whether the id is one that sessions of programs get in other scopes. */
const isIdOfOthers = ({ bound }: Access, conversationId: string): boolean =>
  bound !== undefined &&
  isSessionIdOfOther(conversationId, 'scope' in bound ? bound.scope : undefined, SESSION_SEGMENTS)

/** What a key reaches. */
export interface Bounds {
  /** Throws where a conversation is not within the bound; one that is not there yet may be where `mayBeNew`. */
  check(access: Access, conversationId: string, mayBeNew?: boolean): Promise<void>
  /** Whether it is; one that does not exist yet may be if `mayBeNew`. */
  has(access: Access, conversationId: string, mayBeNew?: boolean): Promise<boolean>
}

/** Knows the scopes of conversations, which never change. */
export function createBounds(ledger: Pick<Ledger, 'log'>): Bounds {
  const scopes = new LRUCache<string, { readonly scope: string | undefined }>({ max: 100_000 })

  /** The scope that a conversation began with; undefined where there is no such conversation. */
  async function readScope(conversationId: string): Promise<{ readonly scope: string | undefined } | undefined> {
    try {
      for await (const { type, data } of ledger.log(conversationId, { limit: 1 })) {
        const found = { scope: type === 'ConversationConfigured' ? data.scope : undefined }
        scopes.set(conversationId, found)
        return found
      }
    } catch (error) {
      if (kindOf(error) !== 'NoSuchConversation') throw error
    }
    return undefined
  }

  /** @param read reads the scope of a conversation, if it matters */
  async function isWithin(
    access: Access,
    conversationId: string,
    mayBeNew: boolean,
    read: typeof readScope,
  ): Promise<boolean> {
    const { bound } = access
    if (bound === undefined) return true
    if ('prefix' in bound && !conversationId.startsWith(bound.prefix)) return false
    const found = await read(conversationId)
    // A key with a prefix names no scope.
    if (found === undefined) return mayBeNew && !isIdOfOthers(access, conversationId)
    return found.scope === ('scope' in bound ? bound.scope : undefined)
  }

  const known = async (conversationId: string): ReturnType<typeof readScope> =>
    scopes.get(conversationId) ?? (await readScope(conversationId))

  return {
    has: (access, conversationId, mayBeNew = false) => isWithin(access, conversationId, mayBeNew, known),
    async check(access, conversationId, mayBeNew = false) {
      const cached = scopes.get(conversationId)
      if (cached !== undefined && (await isWithin(access, conversationId, mayBeNew, () => Promise.resolve(cached))))
        return
      // Read again, so that the refusal of another's conversation takes as long as that of one that does not exist.
      if (await isWithin(access, conversationId, mayBeNew, readScope)) return
      // The same error for a conversation of another scope and for one that does not exist.
      throw mayBeNew && isIdOfOthers(access, conversationId) ? notYours(conversationId) : notThere(conversationId)
    },
  }
}
