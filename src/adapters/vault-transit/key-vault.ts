/**
 * Keys in the transit engine of HashiCorp Vault or OpenBao: one transit key for each key of the ledger.
 *
 * Only version 1 of a transit key wraps. To destroy it, the key gets a version 2 and is trimmed to it: Vault deletes
 * version 1 and cannot restore it. The key itself remains as the tombstone, so no other call can create the name again.
 * After a deleted key, by contrast, a call that is on its way would create the name a second time.
 */
import { z } from 'zod'
import { isKeyName, keyVaultError, type KeyVault } from '../../ports/key-vault.js'
import { TransitClient, type TransitAnswer, type TransitOptions } from './client.js'

/** The version that wraps. */
const LIVE = 1
/** The oldest version of a destroyed key. */
const TOMBSTONE = 2

const KEY_BYTES = 32
const WRAPPED = /^vault:v1:[A-Za-z0-9+/]+={0,2}$/u

const keySchema = z.object({
  latest_version: z.int().min(1),
  min_available_version: z.int().default(0),
  min_decryption_version: z.int(),
  min_encryption_version: z.int(),
})
type TransitKey = z.infer<typeof keySchema>

const isDestroyed = (key: TransitKey): boolean => key.min_available_version >= TOMBSTONE

class VaultTransit implements KeyVault {
  readonly name: string

  constructor(private readonly client: TransitClient) {
    this.name = client.name
  }

  async wrap(keyName: string, dataKey: Uint8Array): Promise<string> {
    await this.create(keyName)
    const plaintext = Buffer.from(dataKey).toString('base64')
    const answer = await this.client.call('POST', `encrypt/${keyName}`, { plaintext, key_version: LIVE })
    if (answer.status === 400) throw await this.refusal(keyName, answer)
    return this.read(z.object({ ciphertext: z.string().regex(WRAPPED) }), answer).ciphertext
  }

  async unwrap(keyName: string, wrapped: string): Promise<Uint8Array> {
    const answer = WRAPPED.test(wrapped)
      ? await this.client.call('POST', `decrypt/${this.checked(keyName)}`, { ciphertext: wrapped })
      : undefined
    if (answer === undefined || answer.status === 400) throw await this.refusal(keyName)
    const { plaintext } = this.read(z.object({ plaintext: z.base64() }), answer)
    const dataKey = Buffer.from(plaintext, 'base64')
    if (dataKey.length !== KEY_BYTES) throw this.unknownAnswer()
    return dataKey
  }

  async destroy(keyName: string): Promise<void> {
    await this.create(keyName)
    const key = await this.key(keyName)
    if (key === undefined) throw this.lost(keyName)
    if (isDestroyed(key)) return
    if (key.latest_version < TOMBSTONE) await this.change(keyName, 'rotate', {})
    await this.change(keyName, 'config', { min_decryption_version: TOMBSTONE, min_encryption_version: TOMBSTONE })
    await this.change(keyName, 'trim', { min_available_version: TOMBSTONE })
    const after = await this.key(keyName)
    if (after === undefined || !isDestroyed(after))
      throw keyVaultError('KeyVaultUnavailable', `${this.name} confirmed that ${keyName} is trimmed, but still has it`)
  }

  private checked(keyName: string): string {
    if (!isKeyName(keyName)) throw new TypeError(`${keyName} is no name of a key`)
    return keyName
  }

  /** Creates the key. Vault leaves one that exists unchanged. */
  private async create(keyName: string): Promise<void> {
    this.done(await this.client.call('POST', `keys/${this.checked(keyName)}`, { type: 'aes256-gcm96' }))
  }

  private async change(keyName: string, action: string, body: Readonly<Record<string, unknown>>): Promise<void> {
    this.done(await this.client.call('POST', `keys/${keyName}/${action}`, body))
  }

  private done(answer: TransitAnswer): void {
    if (answer.status >= 400) throw this.client.unexpected(answer)
  }

  /** The key; undefined if the vault does not have it. */
  private async key(keyName: string): Promise<TransitKey | undefined> {
    const answer = await this.client.call('GET', `keys/${this.checked(keyName)}`)
    return answer.status === 404 ? undefined : this.read(keySchema, answer)
  }

  private read<Data>(schema: z.ZodType<Data>, answer: TransitAnswer): Data {
    this.done(answer)
    const parsed = schema.safeParse(answer.data)
    if (!parsed.success) throw this.unknownAnswer()
    return parsed.data
  }

  private unknownAnswer(): Error {
    return keyVaultError('KeyVaultUnavailable', `${this.name} answered with something that is no answer of Vault`)
  }

  private lost(keyName: string): Error {
    return keyVaultError(
      'KeyVaultUnavailable',
      `${this.name} does not have the key ${keyName} that it has just created`,
    )
  }

  /**
   * Why Vault refused a call with a key. Its sentences differ between versions, so the state of the key decides.
   * @param wrapping the answer to an encryption
   */
  private async refusal(keyName: string, wrapping?: TransitAnswer): Promise<Error> {
    const key = await this.key(keyName)
    if (key === undefined)
      return wrapping === undefined
        ? keyVaultError('KeyUnknown', `${this.name} does not have the key ${keyName}: name the vault with --keys`)
        : this.lost(keyName)
    if (isDestroyed(key))
      return keyVaultError('KeyDestroyed', `the key ${keyName} of ${this.name} is destroyed: its text was erased`)
    if (Math.max(key.min_decryption_version, key.min_encryption_version) > LIVE)
      return keyVaultError(
        'KeyVaultDenied',
        `version 1 of the key ${keyName} is disabled in ${this.name}: complete its erasure (\`erase --resume\`), or set its min_decryption_version to 1 again`,
      )
    return wrapping === undefined
      ? keyVaultError('WrappedKeyDamaged', `a data key was not wrapped under the key ${keyName} of ${this.name}`)
      : this.client.unexpected(wrapping)
  }
}

/** Creates a key vault in a transit engine. Nothing is called before the first use. */
export const createVaultTransit = (options: TransitOptions): KeyVault => new VaultTransit(new TransitClient(options))
