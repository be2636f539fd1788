/**
 * Positions in the log as a caller sees them. A position counts the events of all conversations, so that two of them tell
 * how much was recorded in between. A key that is bound to a part of the ledger sees numbers that say nothing: a
 * permutation by the pepper (a Feistel network), which this and every other process of the service can reverse.
 */
import { createHmac } from 'node:crypto'
import { isRecord } from '../lib/is-record.js'

export interface Positions {
  /** @param salt numbers of one position with different salts have nothing in common */
  readonly shown: (position: number, salt?: number) => number
  /** The position of a number that was shown. */
  readonly meant: (shown: number) => number
}

/** Positions for a caller who may know how much is recorded. */
export const PLAIN_POSITIONS: Positions = { shown: (position) => position, meant: (shown) => shown }

/** The numbers have 52 bits: 44 for the position (a KurrentDB log of 16 TiB), 8 for the salt. */
const POSITIONS = 2 ** 44
const SALTS = 2 ** 8
const HALF = 2 ** 26
const ROUNDS = [0, 1, 2, 3, 4, 5]

/** Positions for a caller who is bound to a part of the ledger. */
export function hiddenPositions(pepper: string): Positions {
  const mixed = (round: number, half: number): number =>
    createHmac('sha256', pepper)
      .update(`position ${String(round)} ${String(half)}`)
      .digest()
      .readUInt32BE() % HALF
  return {
    shown(position, salt = 0) {
      const plain = (salt % SALTS) * POSITIONS + (position % POSITIONS)
      let [left, right] = [Math.floor(plain / HALF), plain % HALF]
      for (const round of ROUNDS) [left, right] = [right, (left + mixed(round, right)) % HALF]
      return left * HALF + right
    },
    meant(shown) {
      let [left, right] = [Math.floor(shown / HALF) % HALF, shown % HALF]
      for (const round of ROUNDS.toReversed()) [left, right] = [(right + HALF - mixed(round, left)) % HALF, left]
      return (left * HALF + right) % POSITIONS
    },
  }
}

/** A query or a body, with the position that its `waitFor` means. */
export const withMeantPosition = (asked: unknown, { meant }: Positions): unknown =>
  isRecord(asked) && typeof asked['waitFor'] === 'number' ? { ...asked, waitFor: meant(asked['waitFor']) } : asked
