/**
 * API keys of 256 random bits. The table holds their HMAC-SHA-256 under a pepper that is stored in another place: a
 * copy of the table is not enough to use the service, and a key of full entropy needs no slow hash.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Bound, KeyRecord, KeyStore, Role } from '../../ports/service-state.js'

/** How long what a key may do is remembered: a revoked one is let in by other processes for so long. */
const REMEMBERED_MS = 2_000

/** A key as its owner gets it, once. */
export interface NewKey {
  readonly id: string
  /** The whole key: it is nowhere else. */
  readonly key: string
}

const PATTERN = /^cl_([0-9a-f]{16})_([A-Za-z0-9_-]{43})$/u

const hashOf = (pepper: string, id: string, secret: string): string =>
  createHmac('sha256', pepper).update(`${id}.${secret}`).digest('hex')

const newSecret = (): string => randomBytes(32).toString('base64url')
const keyOf = (id: string, secret: string): string => `cl_${id}_${secret}`

const same = (a: string, b: string): boolean => {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}

/** Makes a key. */
export async function createKey(
  store: KeyStore,
  pepper: string,
  given: { readonly name: string; readonly roles: readonly Role[]; readonly bound: Bound },
): Promise<NewKey> {
  const id = randomBytes(8).toString('hex')
  const secret = newSecret()
  await store.add({ ...given, id, hash: hashOf(pepper, id, secret) })
  return { id, key: keyOf(id, secret) }
}

/** Gives a key another secret; undefined where no such key is in use. */
export async function rotateKey(
  store: KeyStore,
  pepper: string,
  id: string,
  graceSeconds: number,
): Promise<NewKey | undefined> {
  const secret = newSecret()
  return (await store.rotate(id, hashOf(pepper, id, secret), graceSeconds)) ? { id, key: keyOf(id, secret) } : undefined
}

/** Checks keys. */
export interface KeyCheck {
  /** The record of a key that is let in; undefined where it is not. */
  check(key: string): Promise<KeyRecord | undefined>
  /** A key that is in use, by its id. */
  find(id: string): Promise<KeyRecord | undefined>
  /** Whether keys are needed: there is one, or there was. */
  areNeeded(): Promise<boolean>
}

/** Checks keys, and remembers for a moment what the store said. */
export function createKeyCheck(store: KeyStore, pepper: string | undefined, now: () => number = Date.now): KeyCheck {
  // Concurrent requests share one query.
  const records = new LRUCache<string, Promise<KeyRecord | undefined>>({ max: 10_000, ttl: REMEMBERED_MS })
  /** The secret that each record was found to accept: a hash by HMAC takes longer than all other checks of a request. */
  const accepted = new WeakMap<KeyRecord, string>()
  let needed = false
  let askedAt = -Infinity
  let asking: Promise<boolean> | undefined

  async function find(id: string): Promise<KeyRecord | undefined> {
    const known = records.get(id)
    if (known !== undefined) return await known
    const lookup = store.find(id)
    records.set(id, lookup)
    try {
      return await lookup
    } catch (error) {
      // A failed query is repeated.
      if (records.peek(id) === lookup) records.delete(id)
      throw error
    }
  }

  const inUse = async (id: string): Promise<KeyRecord | undefined> => {
    const record = await find(id)
    return record?.revokedAt === undefined ? record : undefined
  }

  return {
    find: inUse,
    async check(key) {
      const [, id, secret] = PATTERN.exec(key) ?? []
      if (id === undefined || secret === undefined || pepper === undefined) return undefined
      const record = await inUse(id)
      if (record === undefined) return undefined
      const acceptedSecret = accepted.get(record)
      if (acceptedSecret !== undefined && same(secret, acceptedSecret)) return record
      const hash = hashOf(pepper, id, secret)
      if (same(hash, record.hash)) {
        accepted.set(record, secret)
        return record
      }
      const { previous } = record
      return previous !== undefined && Date.parse(previous.until) > now() && same(hash, previous.hash)
        ? record
        : undefined
    },
    async areNeeded() {
      if (needed || now() - askedAt < REMEMBERED_MS) return needed
      asking ??= store.hasAny().finally(() => {
        asking = undefined
      })
      needed = await asking
      askedAt = now()
      return needed
    },
  }
}
