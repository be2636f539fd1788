/**
 * The keys of one conversation. Each text has a unit (a message, a summary, …), and each unit has its own key, derived
 * from the secret of an epoch: a message costs no key record. An erasure begins a new epoch and records its plan. It then
 * closes the earlier epochs: it stores the keys of their other units one by one and deletes their secrets. Several
 * erasures may be between their plan and this step. Each person in the conversation has a secret too; a text about two
 * persons needs both.
 */
import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import type { SealedTexts } from '../../domain/events/sealed.js'
import { hmacBytes } from './cipher.js'

const secret = z.string().length(44)

export const keyringSchema = z.object({
  /** The epoch of new texts. */
  epoch: z.number().int().min(1),
  /** Secrets of epochs that are not closed. */
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
    const subjectSecret = keyring.subjects[subject]
    if (subjectSecret === undefined) return keyring.erasedSubjects.includes(subject) ? 'erased' : 'unknown'
    key = hmacBytes(Buffer.concat([Buffer.from(subjectSecret, 'base64'), key]), 'subject')
  }
  return key
}

function unitKey({ secrets, units }: Keyring, epoch: number, unit: string): Uint8Array | undefined {
  const epochSecret = secrets[epoch]
  if (epochSecret !== undefined) return hmacBytes(Buffer.from(epochSecret, 'base64'), unit)
  const single = units[unitName(epoch, unit)]
  return single === undefined ? undefined : Buffer.from(single, 'base64')
}

/** What an erasure removes from a conversation's keys, as its plan says. */
export interface Removal {
  /** The epoch that the erasure began: it removes units of earlier epochs, and closes these. */
  readonly epoch: number
  readonly units: ReadonlySet<string>
  readonly subjects: readonly string[]
}

/** Whether a stored unit is one that an erasure removes. */
function isRemoved(name: string, { epoch, units }: Removal): boolean {
  const slash = name.indexOf('/')
  return Number(name.slice(0, slash)) < epoch && units.has(name.slice(slash + 1))
}

/** The keyring in which new texts have the next epoch. */
export const withNextEpoch = (keyring: Keyring): Keyring => ({
  ...keyring,
  epoch: keyring.epoch + 1,
  secrets: { ...keyring.secrets, [keyring.epoch + 1]: newSecret() },
})

/** Whether an erasure has been interrupted after it removed its keys from this keyring. */
export const hasNoKeysOf = ({ secrets, units, subjects }: Keyring, removal: Removal): boolean =>
  Object.keys(secrets).every((secretEpoch) => Number(secretEpoch) >= removal.epoch) &&
  !Object.keys(units).some((name) => isRemoved(name, removal)) &&
  !removal.subjects.some((subject) => subject in subjects)

/**
 * The keyring without the keys of an erasure. Epochs before the one that the erasure began are closed. Later ones stay:
 * their texts are not in its plan.
 * @param used every unit that was used in the epochs to close
 */
export function withoutKeys(keyring: Keyring, removal: Removal, used: readonly KeyName[]): Keyring {
  const units = Object.fromEntries(Object.entries(keyring.units).filter(([name]) => !isRemoved(name, removal)))
  for (const { unit, epoch } of used) {
    if (epoch >= removal.epoch || removal.units.has(unit)) continue
    const key = unitKey(keyring, epoch, unit)
    if (key !== undefined) units[unitName(epoch, unit)] = Buffer.from(key).toString('base64')
  }
  const erased = new Set(removal.subjects)
  return {
    epoch: keyring.epoch,
    secrets: Object.fromEntries(Object.entries(keyring.secrets).filter(([epoch]) => Number(epoch) >= removal.epoch)),
    units,
    subjects: Object.fromEntries(Object.entries(keyring.subjects).filter(([subject]) => !erased.has(subject))),
    erasedSubjects: [...new Set([...keyring.erasedSubjects, ...removal.subjects])],
  }
}
