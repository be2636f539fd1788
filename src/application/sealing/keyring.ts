/**
 * The keys of one conversation. Each text has a unit (a message, a summary, …), and each unit has its own key, derived
 * from the secret of an epoch: a message costs no key record. To erase a unit, the epoch is closed: the keys of all
 * other units are written out, the secret is dropped, and a new epoch begins. Each person in the conversation has a
 * secret too; a text about two persons needs both.
 */
import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import type { SealedTexts } from '../../domain/events/sealed.js'
import { hmacBytes } from './cipher.js'

const secret = z.string().length(44)

export const keyringSchema = z.object({
  /** The epoch of new texts. */
  epoch: z.number().int().min(1),
  /** Secrets of epochs in which nothing was erased. */
  secrets: z.record(z.string(), secret),
  /** Keys of single units, by `epoch/unit`, in closed epochs. */
  units: z.record(z.string(), secret),
  /** Secrets of persons, by pseudonym. */
  subjects: z.record(z.string(), secret),
  /** Pseudonyms of persons that were erased from this conversation. */
  erasedSubjects: z.array(z.string()),
})
export type Keyring = z.infer<typeof keyringSchema>

const newSecret = (): string => randomBytes(32).toString('base64')
const unitName = (epoch: number, unit: string): string => `${String(epoch)}/${unit}`

export const newKeyring = (): Keyring => ({
  epoch: 1,
  secrets: { 1: newSecret() },
  units: {},
  subjects: {},
  erasedSubjects: [],
})

/** The keyring with a secret for each of these persons. */
export const withSubjects = (keyring: Keyring, subjects: readonly string[]): Keyring => ({
  ...keyring,
  subjects: {
    ...Object.fromEntries(subjects.map((subject) => [subject, newSecret()])),
    ...keyring.subjects,
  },
})

/** What a sealed text needs to be opened. */
export type KeyName = Pick<SealedTexts, 'unit' | 'epoch' | 'subjects'>

/**
 * The key of a text. `erased`: destroyed. `unknown`: the keyring is older than the text and must be read again.
 */
export function keyOf(keyring: Keyring, { unit, epoch, subjects = [] }: KeyName): Uint8Array | 'erased' | 'unknown' {
  if (epoch > keyring.epoch) return 'unknown'
  const ownKey = unitKey(keyring, epoch, unit)
  if (ownKey === undefined) return 'erased'
  let key = ownKey
  for (const subject of subjects) {
    const of = keyring.subjects[subject]
    if (of === undefined) return keyring.erasedSubjects.includes(subject) ? 'erased' : 'unknown'
    key = hmacBytes(Buffer.concat([Buffer.from(of, 'base64'), key]), 'subject')
  }
  return key
}

function unitKey({ secrets, units }: Keyring, epoch: number, unit: string): Uint8Array | undefined {
  const of = secrets[epoch]
  if (of !== undefined) return hmacBytes(Buffer.from(of, 'base64'), unit)
  const single = units[unitName(epoch, unit)]
  return single === undefined ? undefined : Buffer.from(single, 'base64')
}

/** What an erasure removes from a conversation's keys. */
export interface Removal {
  readonly units: ReadonlySet<string>
  readonly subjects: readonly string[]
}

/** The keyring in which new texts have the next epoch. */
export const withNextEpoch = (keyring: Keyring): Keyring => ({
  ...keyring,
  epoch: keyring.epoch + 1,
  secrets: { ...keyring.secrets, [keyring.epoch + 1]: newSecret() },
})

/** Whether an erasure has been interrupted after it removed its keys from this keyring. */
export const hasNoKeysOf = ({ epoch, secrets, units, subjects }: Keyring, removal: Removal): boolean =>
  Object.keys(secrets).every((of) => Number(of) === epoch) &&
  !Object.keys(units).some((name) => removal.units.has(name.slice(name.indexOf('/') + 1))) &&
  !removal.subjects.some((subject) => subject in subjects)

/**
 * The keyring without the keys of an erasure. All epochs before the current one are closed.
 * @param used every unit that was used in these epochs
 */
export function withoutKeys(keyring: Keyring, removal: Removal, used: readonly KeyName[]): Keyring {
  const units: Record<string, string> = {}
  for (const { unit, epoch } of used) {
    if (epoch >= keyring.epoch || removal.units.has(unit)) continue
    const key = unitKey(keyring, epoch, unit)
    if (key !== undefined) units[unitName(epoch, unit)] = Buffer.from(key).toString('base64')
  }
  const current = keyring.secrets[keyring.epoch]
  const gone = new Set(removal.subjects)
  return {
    epoch: keyring.epoch,
    secrets: current === undefined ? {} : { [keyring.epoch]: current },
    units,
    subjects: Object.fromEntries(Object.entries(keyring.subjects).filter(([subject]) => !gone.has(subject))),
    erasedSubjects: [...new Set([...keyring.erasedSubjects, ...removal.subjects])],
  }
}
