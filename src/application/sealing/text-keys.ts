/**
 * The keys of texts of an erasable ledger: read from the keyring store, unwrapped by the key vault, and kept in memory
 * for conversations in use. `seal` and `open` of a conversation need no I/O.
 */
import { randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { LedgerError } from '../../lib/ledger-error.js'
import {
  sealedContext,
  textWithSealed,
  type OpenTexts,
  type SealedPlace,
  type SealedTexts,
} from '../../domain/events/sealed.js'
import { separateTexts, type TextGroup } from '../../domain/events/texts.js'
import { isRecord } from '../../lib/is-record.js'
import type { KeyringReader } from '../../ports/event-store.js'
import type { KeyringRecord, KeyringStore, LedgerKeys } from '../../ports/keyring-store.js'
import { isKeyVaultError, type KeyVault } from '../../ports/key-vault.js'
import { decrypt, encrypt, encryptRepeatably, hmac } from './cipher.js'
import { ErasureWatch } from './erasure-watch.js'
import {
  hasNoKeysOf,
  keyOf,
  keyringSchema,
  newKeyring,
  withNextEpoch,
  withoutKeys,
  withSubjects,
  type KeyName,
  type Keyring,
  type Removal,
} from './keyring.js'

/** The unit of the key of `idSeedOf`. No text has it, so an erasure does not write out its key. */
const ID_SEEDS = 'id-seeds'

/** The keys of one conversation, as they were at one moment. */
export class ConversationKeys {
  /** True if a text needs keys that were created after these were read. */
  isOutdated = false
  /** When these were the stored keys, by the monotonic clock of this process. */
  confirmedAt = performance.now()

  constructor(
    readonly conversationId: string,
    /** Undefined if the whole conversation is erased. */
    readonly keyring: Keyring | undefined,
    /** The version of their record; undefined if it is not known. */
    readonly version?: number,
  ) {}

  /** True if the whole conversation is erased. Nothing is recorded in it any more. */
  get isErased(): boolean {
    return this.keyring === undefined
  }

  /** The epoch of new texts. */
  get epoch(): number | undefined {
    return this.keyring?.epoch
  }

  /** A keyed hash, the same for the same text until an erasure. Undefined if the whole conversation is erased. */
  idSeedOf(text: string): string | undefined {
    if (this.keyring === undefined) return undefined
    const key = keyOf(this.keyring, { unit: ID_SEEDS, epoch: this.keyring.epoch })
    return typeof key === 'string' ? undefined : hmac(key, text)
  }

  /** Opens the texts of an event. */
  readonly open: OpenTexts = (sealed, place) => {
    if (this.keyring === undefined) return 'erased'
    const key = keyOf(this.keyring, sealed)
    if (key === 'unknown') this.isOutdated = true
    if (key === 'unknown' || key === 'erased') return 'erased'
    const text = decrypt(key, sealedContext(place, sealed), sealed)
    if (text === undefined) return 'damaged'
    const values: unknown = JSON.parse(text)
    return isRecord(values) ? values : 'damaged'
  }

  /**
   * The stored text of the data of an event.
   * @param subjects pseudonyms of the persons whose keys the event needs in addition
   */
  seal(dataText: string, groups: readonly TextGroup[], place: SealedPlace, subjects: readonly string[]): string {
    if (groups.length === 0) return dataText
    const parsed: unknown = JSON.parse(dataText)
    if (!isRecord(parsed)) return dataText
    const { data, texts } = separateTexts(groups, parsed, place)
    if (texts.length === 0) return dataText
    return textWithSealed(
      data,
      texts.map(({ at, unit, unmarked, values }) => {
        const persons = unit.startsWith('message:') && at.length === 0 ? subjects : []
        const epoch = this.epoch ?? 0
        const name: Omit<SealedTexts, 'iv' | 'text'> =
          at.length === 0 && persons.length === 0 && unmarked === undefined
            ? { unit, epoch }
            : {
                ...(at.length === 0 ? {} : { at: [...at] }),
                unit,
                epoch,
                ...(persons.length === 0 ? {} : { subjects: [...persons] }),
                ...(unmarked === undefined ? {} : { unmarked }),
              }
        return this.sealTexts(name, values, place)
      }),
    )
  }

  private sealTexts(
    name: Omit<SealedTexts, 'iv' | 'text'>,
    values: Readonly<Record<string, unknown>>,
    place: SealedPlace,
  ): SealedTexts {
    const key = this.keyring === undefined ? 'erased' : keyOf(this.keyring, name)
    if (typeof key === 'string') throw conversationErased(this.conversationId)
    return { ...name, ...encryptRepeatably(key, sealedContext(place, name), JSON.stringify(values)) }
  }
}

/** The whole conversation was erased. */
const conversationErased = (conversationId: string): LedgerError =>
  new LedgerError(
    'ConversationErased',
    `conversation "${conversationId}" was erased: nothing is recorded in it any more. Use another conversation id`,
    { details: { conversationId } },
  )

const subjectErased = (): LedgerError =>
  new LedgerError(
    'SubjectErased',
    'subject names a person whose data was erased: nothing about this person is recorded any more',
  )

/** @param field what needs an erasable ledger */
export const notErasable = (field: string): LedgerError =>
  new LedgerError(
    'NotErasable',
    `${field}: this ledger is not erasable. \`migrate-log --erasable\` copies it into an erasable one, in which every text is encrypted`,
  )

const keyringLost = (conversationId: string): LedgerError =>
  new LedgerError(
    'KeyUnknown',
    `the keys of conversation "${conversationId}" are missing in the table keyrings, although it has sealed texts: restore the table`,
    { details: { conversationId } },
  )

/** Whether a vault cannot unwrap a key, also later. */
const isLost = (error: unknown) => isKeyVaultError(error, 'KeyUnknown', 'KeyDestroyed', 'WrappedKeyDamaged')

const keyLost = (conversationId: string, error: LedgerError): LedgerError =>
  new LedgerError(
    error.kind,
    `the key of conversation "${conversationId}" cannot be used: ${error.message}. Restore the key, or erase the conversation`,
    { cause: error, details: { conversationId } },
  )

const encryptedKeyring = (dataKey: Uint8Array, conversationId: string, keyring: Keyring): string => {
  const { iv, text } = encrypt(dataKey, conversationId, JSON.stringify(keyring))
  return `${iv} ${text}`
}

const ignore = (): void => undefined

/** Takes the keys of a conversation that are read together with its events. */
export interface ReadKeys extends KeyringReader {
  /** Keeps the keys in memory, if they were read and are still the newest. */
  keep(): Promise<void>
}

const CACHED = 2_000
const STORE_ATTEMPTS = 50

/** A keyring with its record. */
interface Loaded {
  readonly record: KeyringRecord
  readonly dataKey: Uint8Array
  readonly keyring: Keyring
}

/** The result of removing keys. */
export interface RemovedKeys {
  /** Names of the destroyed keys of the vault. */
  readonly destroyed: readonly string[]
}

/** New keys of a conversation. Nothing that they sealed may be recorded before their record is stored. */
export interface NewKeys {
  readonly keys: ConversationKeys
  /** Resolves when the vault's key is durable. Undefined: it was destroyed earlier, so these keys are of no use. */
  readonly record: Promise<KeyringRecord | undefined>
  /** Stores the record. Returns false if these keys are of no use, because the conversation has others. */
  store(): Promise<boolean>
  /** Keeps the keys in memory, after the record was stored. */
  keep(): void
}

/** The keys of an erasable ledger. */
export class TextKeys {
  private readonly cache = new LRUCache<string, ConversationKeys>({ max: CACHED })
  /** Conversations that are erased as a whole. Their texts count as erased if their key is lost. */
  private readonly erasedIfLost = new Set<string>()
  /** The number of changes of keys in memory. */
  private changes = 0
  private readonly erasures: ErasureWatch

  private constructor(
    readonly store: KeyringStore,
    readonly vault: KeyVault,
    private readonly ledger: LedgerKeys,
    /** For keyed pseudonyms and fingerprints. */
    private readonly ledgerSecret: Uint8Array,
  ) {
    this.erasures = new ErasureWatch(store, (conversationId) => {
      this.forget(conversationId)
    })
  }

  /** The keys of an erasable ledger; undefined if it is not erasable. */
  static async open(store: KeyringStore, vault: KeyVault): Promise<TextKeys | undefined> {
    const ledger = await store.ledger()
    if (ledger === undefined) return undefined
    return new TextKeys(store, vault, ledger, await vault.unwrap(ledger.vaultKey, ledger.wrapped))
  }

  /** Makes a ledger erasable that has no events yet. */
  static async create(store: KeyringStore, vault: KeyVault): Promise<void> {
    const ledgerId = randomBytes(6).toString('hex')
    const vaultKey = `cl-${ledgerId}-ledger`
    await store.createLedger({ ledgerId, vaultKey, wrapped: await vault.wrap(vaultKey, randomBytes(32)) })
  }

  /**
   * Makes a ledger without events erasable, as a copy of another one: with the same names of keys, pseudonyms and
   * fingerprints.
   */
  static async createCopy(store: KeyringStore, vault: KeyVault, { ledger, ledgerSecret }: TextKeys): Promise<void> {
    await store.createLedger({ ...ledger, wrapped: await vault.wrap(ledger.vaultKey, ledgerSecret) })
  }

  /** Whether this ledger is a copy of the other one, or the other way round. */
  isCopyOf(other: TextKeys): boolean {
    return this.ledger.ledgerId === other.ledger.ledgerId
  }

  /** A keyed hash under the ledger's own key: it says nothing without the key vault. */
  fingerprint(...parts: readonly string[]): string {
    return hmac(this.ledgerSecret, JSON.stringify(parts))
  }

  /** The pseudonym of a person, in events and tables. */
  pseudonym(subject: string): string {
    return this.fingerprint('subject', subject).slice(0, 24)
  }

  /** The keys of a conversation, for reading. From memory if they are there. */
  of(conversationId: string): ConversationKeys | Promise<ConversationKeys> {
    if (this.erasures.mayBeOutdated) return this.erasures.forgetErased().then(() => this.of(conversationId))
    const known = this.cache.get(conversationId)
    if (known === undefined) return this.reload(conversationId)
    return known.confirmedAt >= this.erasures.missedAt ? known : this.confirmed(known)
  }

  /** For a read of the conversation's events; undefined if its keys are in memory. */
  readWithEvents(conversationId: string): ReadKeys | undefined {
    if (this.cache.has(conversationId)) return undefined
    const { changes } = this
    const { asked } = this.erasures
    let record: KeyringRecord | undefined
    return {
      conversationId,
      take: (read) => {
        record = read
      },
      keep: async () => {
        if (record === undefined) return
        const keyring = record.wrapped === '' ? undefined : await this.keyringOf(record)
        if (this.erasures.mayBeOutdated) await this.erasures.forgetErased()
        // Otherwise the keys are read again when they are needed.
        if (asked === this.erasures.asked && changes === this.changes)
          this.keep(conversationId, keyring, record.version)
      },
    }
  }

  /** Keys from memory if they are still the stored ones. */
  private async confirmed(known: ConversationKeys): Promise<ConversationKeys> {
    const confirmedAt = performance.now()
    if ((await this.store.get(known.conversationId))?.version !== known.version)
      return await this.reload(known.conversationId)
    known.confirmedAt = confirmedAt
    return known
  }

  /** Waits until every other process has forgotten the keys that this one removed. */
  async forgottenElsewhere(): Promise<void> {
    await this.erasures.forgottenElsewhere()
  }

  /** The keys of a conversation, read again. */
  async reload(conversationId: string): Promise<ConversationKeys> {
    let record = await this.store.get(conversationId)
    for (;;) {
      const { asked } = this.erasures
      if (record === undefined) throw keyringLost(conversationId)
      const keyring = record.wrapped === '' ? undefined : await this.keyringOf(record)
      if (this.erasures.mayBeOutdated) await this.erasures.forgetErased()
      if (asked === this.erasures.asked) return this.keep(conversationId, keyring, record.version)
      // The keys may have been removed after their record was read.
      const newer = await this.store.get(conversationId)
      if (newer?.version === record.version) return this.keep(conversationId, keyring, record.version)
      record = newer
    }
  }

  private async keyringOf(record: KeyringRecord): Promise<Keyring | undefined> {
    try {
      return (await this.load(record)).keyring
    } catch (error) {
      if (this.erasedIfLost.has(record.conversationId) && isLost(error)) return undefined
      throw error
    }
  }

  /**
   * Lets this process read the texts of a conversation as erased if the vault lost its key, so that the whole
   * conversation can be erased.
   */
  allowLost(conversationId: string): void {
    this.erasedIfLost.add(conversationId)
    this.forget(conversationId)
  }

  /** Forgets the keys of a conversation in memory. */
  forget(conversationId: string): void {
    this.changes += 1
    this.cache.delete(conversationId)
  }

  /**
   * The keys of a conversation, for recording: created with the first text.
   * @param subjects persons of the texts to record, by pseudonym
   * @param afresh reads the keys again, because another process may have changed them
   */
  async toRecord(conversationId: string, subjects: readonly string[] = [], afresh = false): Promise<ConversationKeys> {
    const known = afresh ? undefined : this.cache.get(conversationId)
    if (known?.keyring !== undefined && subjects.every((subject) => subject in (known.keyring?.subjects ?? {})))
      return known
    for (const subject of subjects) if (await this.store.isSubjectErased(subject)) throw subjectErased()
    const { asked } = this.erasures
    const keyring = await this.change(conversationId, (loaded) => {
      const current = loaded?.keyring ?? newKeyring()
      const missing = subjects.filter((subject) => !(subject in current.subjects))
      if (missing.some((subject) => current.erasedSubjects.includes(subject))) throw subjectErased()
      if (loaded !== undefined && missing.length === 0) return undefined
      return { keyring: withSubjects(current, missing), subjects: missing, isNewGeneration: false }
    })
    // Keys that an erasure may have removed since they were read only seal: their conversation has moved.
    return asked === this.erasures.asked
      ? this.keep(conversationId, keyring)
      : new ConversationKeys(conversationId, keyring)
  }

  /** New keys for a conversation that has none. They can seal at once, while the vault makes its key durable. */
  begin(conversationId: string): NewKeys {
    const keyring = newKeyring()
    const record = this.firstRecord(conversationId, keyring)
    // The caller may fail before it waits for this.
    record.catch(ignore)
    return {
      keys: new ConversationKeys(conversationId, keyring),
      record,
      store: async () => {
        const ready = await record
        return ready !== undefined && (await this.store.put(ready)) === 'stored'
      },
      keep: () => {
        this.keep(conversationId, keyring)
      },
    }
  }

  private async firstRecord(conversationId: string, keyring: Keyring): Promise<KeyringRecord | undefined> {
    const dataKey = randomBytes(32)
    try {
      const wrapped = await this.vault.wrap(this.vaultKeyOf(conversationId, 1), dataKey)
      const keys = encryptedKeyring(dataKey, conversationId, keyring)
      return { conversationId, version: 1, generation: 1, wrapped, keys, toDestroy: [] }
    } catch (error) {
      if (isKeyVaultError(error, 'KeyDestroyed')) return undefined
      throw error
    }
  }

  /** Begins an epoch: texts that are recorded from now on keep their keys when those of earlier epochs are removed. */
  async beginEpoch(conversationId: string): Promise<number> {
    const keyring = await this.change(conversationId, (loaded) => ({
      keyring: withNextEpoch(loaded?.keyring ?? newKeyring()),
      subjects: [],
      isNewGeneration: false,
    }))
    return this.keep(conversationId, keyring).keyring?.epoch ?? 0
  }

  /**
   * Removes keys from a conversation: the others are stored under a new key of the vault, and the former key is
   * destroyed. Can be repeated after a crash at any point.
   */
  async remove(conversationId: string, removal: Removal, used: readonly KeyName[]): Promise<RemovedKeys> {
    if ((await this.reload(conversationId)).isErased) return await this.destroyFormer(conversationId)
    const keyring = await this.change(conversationId, (loaded) =>
      loaded === undefined || hasNoKeysOf(loaded.keyring, removal)
        ? undefined
        : { keyring: withoutKeys(loaded.keyring, removal, used), subjects: [], isNewGeneration: true },
    )
    this.keep(conversationId, keyring)
    return await this.destroyFormer(conversationId)
  }

  /** Removes all keys of a conversation. Nothing can be recorded in it afterwards. */
  async removeAll(conversationId: string): Promise<RemovedKeys> {
    for (let tries = 0; tries < STORE_ATTEMPTS; tries += 1) {
      const record = await this.store.get(conversationId)
      if (record?.wrapped === '') break
      const stored = await this.store.put({
        conversationId,
        version: (record?.version ?? 0) + 1,
        generation: record?.generation ?? 1,
        wrapped: '',
        keys: '',
        toDestroy: [...(record?.toDestroy ?? []), record?.generation ?? 1],
      })
      if (stored === 'stored') break
    }
    this.keep(conversationId, undefined)
    return await this.destroyFormer(conversationId)
  }

  /** Whether all keys of a conversation are removed. Read from the store, because another process may have done it. */
  async isConversationErased(conversationId: string): Promise<boolean> {
    return (await this.store.get(conversationId))?.wrapped === ''
  }

  conversationsOf(subject: string): Promise<string[]> {
    return this.store.conversationsOf(subject)
  }

  /** From now on nothing is recorded about this person. */
  eraseSubject(subject: string): Promise<boolean> {
    return this.store.eraseSubject(subject)
  }

  isSubjectErased(subject: string): Promise<boolean> {
    return this.store.isSubjectErased(subject)
  }

  async addFingerprints(fingerprints: readonly string[]): Promise<void> {
    await this.erasures.addFingerprints(fingerprints)
  }

  /** Whether there are fingerprints. An erasure stores them before it removes keys, so this process learns of both. */
  async mayHaveFingerprints(): Promise<boolean> {
    return await this.erasures.mayHaveFingerprints()
  }

  findFingerprints(fingerprints: readonly string[]): Promise<ReadonlySet<string>> {
    return this.store.findFingerprints(fingerprints)
  }

  private async destroyFormer(conversationId: string): Promise<RemovedKeys> {
    this.erasures.noteRemoval()
    const record = await this.store.get(conversationId)
    const destroyed: string[] = []
    for (const generation of record?.toDestroy ?? []) {
      const name = this.vaultKeyOf(conversationId, generation)
      await this.vault.destroy(name)
      destroyed.push(name)
    }
    return { destroyed }
  }

  /**
   * Forgets which keys were destroyed, when an erasure is completed.
   * @param destroyed their names in the vault. Another process may have to destroy others.
   */
  async forgetDestroyed(conversationId: string, destroyed: readonly string[]): Promise<void> {
    for (let tries = 0; tries < STORE_ATTEMPTS; tries += 1) {
      const record = await this.store.get(conversationId)
      const toDestroy = record?.toDestroy.filter((of) => !destroyed.includes(this.vaultKeyOf(conversationId, of))) ?? []
      if (record === undefined || toDestroy.length === record.toDestroy.length) return
      if ((await this.store.put({ ...record, version: record.version + 1, toDestroy })) === 'stored') return
    }
    throw busy(conversationId)
  }

  /** Name of the key of the vault that wraps a conversation's data key. */
  vaultKeyOf(conversationId: string, generation: number): string {
    const name = this.fingerprint('conversation', conversationId).slice(0, 24)
    return `cl-${this.ledger.ledgerId}-${name}-${String(generation)}`
  }

  private keep(conversationId: string, keyring: Keyring | undefined, version?: number): ConversationKeys {
    const keys = new ConversationKeys(conversationId, keyring, version)
    this.changes += 1
    this.cache.set(conversationId, keys)
    return keys
  }

  /** Unwraps the data key of a conversation. */
  async unwrap({ conversationId, generation, wrapped }: KeyringRecord): Promise<Uint8Array> {
    return await this.vault.unwrap(this.vaultKeyOf(conversationId, generation), wrapped).catch((error: unknown) => {
      throw isLost(error) ? keyLost(conversationId, error) : error
    })
  }

  private async load(record: KeyringRecord): Promise<Loaded> {
    const { conversationId, keys } = record
    const dataKey = await this.unwrap(record)
    const [iv = '', text = ''] = keys.split(' ')
    const plain = decrypt(dataKey, conversationId, { iv, text })
    const keyring = plain === undefined ? undefined : keyringSchema.safeParse(JSON.parse(plain)).data
    if (keyring === undefined)
      throw new LedgerError('WrappedKeyDamaged', `the keys of conversation "${conversationId}" were changed`)
    return { record, dataKey, keyring }
  }

  /** Changes a keyring, again if another process has changed it meanwhile. `undefined` changes nothing. */
  private async change(
    conversationId: string,
    next: (
      loaded: Loaded | undefined,
    ) =>
      | { readonly keyring: Keyring; readonly subjects: readonly string[]; readonly isNewGeneration: boolean }
      | undefined,
  ): Promise<Keyring> {
    for (let tries = 0; tries < STORE_ATTEMPTS; tries += 1) {
      const record = await this.store.get(conversationId)
      if (record?.wrapped === '') throw conversationErased(conversationId)
      const loaded = record === undefined ? undefined : await this.load(record)
      const changed = next(loaded)
      if (changed === undefined) {
        if (loaded === undefined) throw keyringLost(conversationId)
        return loaded.keyring
      }
      const former = loaded?.record.generation
      const generation = former === undefined ? 1 : changed.isNewGeneration ? former + 1 : former
      const isSameKey = loaded !== undefined && generation === former
      const dataKey = isSameKey ? loaded.dataKey : randomBytes(32)
      const stored = await this.store.put(
        {
          conversationId,
          version: (loaded?.record.version ?? 0) + 1,
          generation,
          wrapped: isSameKey
            ? loaded.record.wrapped
            : await this.vault.wrap(this.vaultKeyOf(conversationId, generation), dataKey),
          keys: encryptedKeyring(dataKey, conversationId, changed.keyring),
          toDestroy: [...(loaded?.record.toDestroy ?? []), ...(isSameKey || former === undefined ? [] : [former])],
        },
        changed.subjects,
      )
      if (stored === 'erased') throw subjectErased()
      if (stored === 'stored') return changed.keyring
    }
    throw busy(conversationId)
  }
}

const busy = (conversationId: string): LedgerError =>
  new LedgerError(
    'StoreUnavailable',
    `the keys of conversation "${conversationId}" are changed by other processes all the time: try again`,
  )
