/**
 * Keys in a folder: one file for each key, named after it. A file is created by a hard link, which succeeds once, so
 * several processes need no lock. A destroyed key leaves a file that says so; the bytes of the key are overwritten. With
 * an envelope, the files contain keys that a key management service sealed.
 *
 * Only waits for the disk are asynchronous. Each file has about 70 bytes, and an append waits for its key: between two
 * asynchronous steps other work of this process would run, which takes many times as long.
 */
import { canSyncFolders } from '../../lib/platform.js'
import { ownFolder } from '../../lib/user-folders.js'
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import {
  closeSync,
  fsync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import type { LedgerError } from '../../lib/ledger-error.js'
import type { KeyEnvelope } from '../../ports/key-envelope.js'
import { isKeyName, keyVaultError, type KeyVault } from '../../ports/key-vault.js'
import { PRIVATE_FILE, PRIVATE_FOLDER } from '../../ports/private-files.js'
import { codeOf, sentenceOf } from '../../ports/store-error.js'

const IV_BYTES = 12
const TAG_BYTES = 16
const KEY_BYTES = 32
const LIVE = 'context-ledger key 1 '
const SEALED = 'context-ledger key sealed 1 '
const DESTROYED = 'context-ledger key destroyed\n'

/** Encrypts a data key under a key; the name is authenticated. */
export function wrapUnder(key: Uint8Array, keyName: string, dataKey: Uint8Array): string {
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(keyName))
  return Buffer.concat([iv, cipher.update(dataKey), cipher.final(), cipher.getAuthTag()]).toString('base64')
}

/** Decrypts a data key; undefined if it was not wrapped under this key and name. */
export function unwrapUnder(key: Uint8Array, keyName: string, wrapped: string): Uint8Array | undefined {
  const bytes = Buffer.from(wrapped, 'base64')
  if (bytes.length <= IV_BYTES + TAG_BYTES) return undefined
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, IV_BYTES))
      .setAAD(Buffer.from(keyName))
      .setAuthTag(bytes.subarray(-TAG_BYTES))
    return Buffer.concat([decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()])
  } catch {
    // The tag does not match: another key, another name, or changed bytes.
    return undefined
  }
}

const synced = promisify(fsync)

/** A key vault in a folder that is created with the first key. */
class KeyFolder implements KeyVault {
  readonly name: string

  constructor(
    private readonly folder: string,
    private readonly envelope: KeyEnvelope | undefined,
    private readonly isBlocking: boolean,
  ) {
    this.name = envelope === undefined ? `key folder ${folder}` : `key folder ${folder} sealed by ${envelope.name}`
  }

  async wrap(keyName: string, dataKey: Uint8Array): Promise<string> {
    const existing = await this.read(keyName)
    // Another process may have created the key a moment ago, and be about to sync the folder.
    if (existing !== undefined) await this.attempt(() => this.syncFolder())
    return wrapUnder(existing ?? (await this.create(keyName)), keyName, dataKey)
  }

  async unwrap(keyName: string, wrapped: string): Promise<Uint8Array> {
    const key = await this.read(keyName)
    if (key === undefined)
      throw keyVaultError(
        'KeyUnknown',
        `the ${this.name} does not have the key ${keyName}: name the folder that this ledger's keys are in (--keys)`,
      )
    const dataKey = unwrapUnder(key, keyName, wrapped)
    if (dataKey === undefined)
      throw keyVaultError('WrappedKeyDamaged', `a data key was not wrapped under the key ${keyName} of ${this.name}`)
    return dataKey
  }

  async destroy(keyName: string): Promise<void> {
    const file = this.fileOf(keyName)
    await this.attempt(async () => {
      mkdirSync(this.folder, { recursive: true, mode: PRIVATE_FOLDER })
      const former = await open(file, 'r+').catch((error: unknown) => {
        if (codeOf(error) === 'ENOENT') return undefined
        throw error
      })
      try {
        renameSync(await this.writeDraft(DESTROYED), file)
        await this.syncFolder()
        if (former !== undefined) await this.overwrite(former)
      } finally {
        await former?.close()
      }
    })
  }

  private fileOf(keyName: string): string {
    if (!isKeyName(keyName)) throw new TypeError(`${keyName} is no name of a key`)
    return join(this.folder, `${keyName}.key`)
  }

  /** The key; undefined if it was never used. */
  private async read(keyName: string): Promise<Uint8Array | undefined> {
    const file = this.fileOf(keyName)
    const text = this.textOf(file)
    if (text === undefined) return undefined
    if (text === DESTROYED)
      throw keyVaultError('KeyDestroyed', `the key ${keyName} of ${this.name} is destroyed: its text was erased`)
    const key = this.envelope === undefined ? this.plainKey(file, text) : await this.openKey(file, keyName, text)
    if (key.length !== KEY_BYTES)
      throw keyVaultError('WrappedKeyDamaged', `${file} has no key: restore it from a copy of the key folder`)
    return key
  }

  /** The content of a file; undefined if there is none. */
  private textOf(file: string): string | undefined {
    try {
      // Each new key would cost an exception otherwise.
      if (statSync(file, { throwIfNoEntry: false }) === undefined) return undefined
      return readFileSync(file, 'utf8')
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return undefined
      throw this.failure(error)
    }
  }

  private plainKey(file: string, text: string): Uint8Array {
    if (text.startsWith(SEALED))
      throw keyVaultError('KeyUnknown', `${file} is sealed by a key management service: name its address with --keys`)
    return Buffer.from(text.startsWith(LIVE) ? text.slice(LIVE.length) : '', 'base64')
  }

  private async openKey(file: string, keyName: string, text: string): Promise<Uint8Array> {
    if (this.envelope === undefined || !text.startsWith(SEALED))
      throw keyVaultError(
        text.startsWith(LIVE) ? 'KeyUnknown' : 'WrappedKeyDamaged',
        `${file} is not sealed: name its folder alone with --keys, or restore it from a copy of the key folder`,
      )
    return await this.envelope.open(keyName, text.slice(SEALED.length).trimEnd())
  }

  /** The content of the file of a new key. A sealed key is opened before it is used, so a wrong answer loses nothing. */
  private async contentOf(keyName: string, key: Uint8Array): Promise<string> {
    if (this.envelope === undefined) return `${LIVE}${Buffer.from(key).toString('base64')}\n`
    const sealed = await this.envelope.seal(keyName, key)
    const opened = await this.envelope.open(keyName, sealed)
    if (!Buffer.from(key).equals(opened))
      throw keyVaultError('KeyVaultUnavailable', `${this.envelope.name} did not return the key that it sealed`)
    return `${SEALED}${sealed}\n`
  }

  private async create(keyName: string): Promise<Uint8Array> {
    const file = this.fileOf(keyName)
    const created = randomBytes(KEY_BYTES)
    const content = await this.contentOf(keyName, created)
    let isOurs = true
    await this.attempt(async () => {
      mkdirSync(this.folder, { recursive: true, mode: PRIVATE_FOLDER })
      const draft = await this.writeDraft(content)
      try {
        linkSync(draft, file)
      } catch (error) {
        // Another call has created the key, or destroyed it, meanwhile.
        if (codeOf(error) !== 'EEXIST') throw error
        isOurs = false
      }
      unlinkSync(draft)
      await this.syncFolder()
    })
    if (isOurs) return created
    const key = await this.read(keyName)
    if (key === undefined) throw keyVaultError('KeyVaultUnavailable', `${file} was deleted while it was created`)
    return key
  }

  /** Writes a complete file under another name, before it gets its own. */
  private async writeDraft(content: string): Promise<string> {
    const draft = join(this.folder, `.${randomBytes(12).toString('hex')}`)
    const opened = openSync(draft, 'wx', PRIVATE_FILE)
    try {
      writeFileSync(opened, content)
      await this.sync(opened)
    } finally {
      closeSync(opened)
    }
    return draft
  }

  /** The file is no longer reachable by a name; its bytes are replaced where the file system allows it. */
  private async overwrite(former: FileHandle): Promise<void> {
    const { size } = await former.stat()
    await former.write(Buffer.alloc(size), 0, size, 0)
    await former.sync()
  }

  private async sync(opened: number): Promise<void> {
    if (this.isBlocking) fsyncSync(opened)
    else await synced(opened)
  }

  private async syncFolder(): Promise<void> {
    if (!canSyncFolders()) return
    const opened = openSync(this.folder, 'r')
    try {
      await this.sync(opened)
    } finally {
      closeSync(opened)
    }
  }

  private async attempt<Result>(action: () => Promise<Result>): Promise<Result> {
    try {
      return await action()
    } catch (error) {
      throw this.failure(error)
    }
  }

  private failure(error: unknown): LedgerError {
    const code = codeOf(error)
    return keyVaultError(
      code === 'EACCES' || code === 'EPERM' || code === 'EROFS' ? 'KeyVaultDenied' : 'KeyVaultUnavailable',
      `the ${this.name} cannot be used: ${sentenceOf(error)}`,
      error,
    )
  }
}

/** The folder for keys of this user: outside every ledger, so that a copy of a ledger does not contain them. */
export const defaultKeyFolder = (): string => ownFolder('data', 'keys')

/**
 * Creates a key vault in a folder. Nothing is read or written before the first call.
 * @param envelope seals the keys in the folder
 * @param isBlocking waits for the disk without a turn of the event loop. For a process whose database runs in the same
 *   thread: a wait is shorter than the work that would run meanwhile
 */
export const createKeyFolder = (folder: string, envelope?: KeyEnvelope, isBlocking = false): KeyVault =>
  new KeyFolder(resolve(folder), envelope, isBlocking)
