/**
 * Opaque positions in the log. A position counts the events of all conversations, so the difference of two positions is
 * the number of events in between, of all tenants. A key that is bound to a part of the ledger receives a permutation by
 * the pepper instead (a Feistel network). Every process of the service with the same pepper can decode it.
 */
import { createHmac } from 'node:crypto'
import { isRecord } from '../../lib/is-record.js'

export interface Positions {
  /** @param salt the same position with another salt is an unrelated number */
  readonly encode: (position: number, salt?: number) => number
  /** The position of an encoded number. */
  readonly decode: (encode: number) => number
}

/** Positions for keys that reach the whole ledger. */
export const PLAIN_POSITIONS: Positions = { encode: (position) => position, decode: (encode) => encode }

/** The numbers have 52 bits: 44 for the position (a KurrentDB log of 16 TiB), 8 for the salt. */
const POSITIONS = 2 ** 44
const SALTS = 2 ** 8
const HALF = 2 ** 26
const ROUNDS = [0, 1, 2, 3, 4, 5]

/** Positions for keys that are bound to a part of the ledger. */
export function hiddenPositions(pepper: string): Positions {
  const mixed = (round: number, half: number): number =>
    createHmac('sha256', pepper)
      .update(`position ${String(round)} ${String(half)}`)
      .digest()
      .readUInt32BE() % HALF
  return {
    encode(position, salt = 0) {
      const plain = (salt % SALTS) * POSITIONS + (position % POSITIONS)
      let [left, right] = [Math.floor(plain / HALF), plain % HALF]
      for (const round of ROUNDS) [left, right] = [right, (left + mixed(round, right)) % HALF]
      return left * HALF + right
    },
    decode(encode) {
      let [left, right] = [Math.floor(encode / HALF) % HALF, encode % HALF]
      for (const round of ROUNDS.toReversed()) [left, right] = [(right + HALF - mixed(round, left)) % HALF, left]
      return (left * HALF + right) % POSITIONS
    },
  }
}

/** A query or a body, with the position that its `waitFor` means. */
export const withDecodedPosition = (asked: unknown, { decode }: Positions): unknown =>
  isRecord(asked) && typeof asked['waitFor'] === 'number' ? { ...asked, waitFor: decode(asked['waitFor']) } : asked
