/**
 * Seals keys with an RSA key of Azure Key Vault or Managed HSM. Credentials are those of the environment
 * (`DefaultAzureCredential`). The sealed text names the version of the key, so a later version can seal new keys.
 */
import type { TokenCredential } from '@azure/identity'
import type { CryptographyClient } from '@azure/keyvault-keys'
import { isRecord } from '../../lib/is-record.js'
import { isLoopback } from '../../lib/loopback.js'
import type { KeyEnvelope } from '../../ports/key-envelope.js'
import { keyVaultError, type KeyVaultErrorKind } from '../../ports/key-vault.js'
import {
  callEnvelope,
  emptyAnswer,
  ENVELOPE_TIMEOUT_MS,
  loadPackage,
  sealedBytes,
  type EnvelopeOptions,
  type PackageError,
} from '../cloud-kms-call.js'

type Keys = typeof import('@azure/keyvault-keys')
type Identity = typeof import('@azure/identity')

/** Imports the packages. */
export interface AzurePackages {
  readonly keys: () => Promise<Keys>
  readonly identity: () => Promise<Identity>
}

const ALGORITHM = 'RSA-OAEP-256'
const RETRIES = { maxRetries: 2, retryDelayInMs: 100, maxRetryDelayInMs: 1_000 }

const KINDS: Readonly<Record<number, KeyVaultErrorKind>> = {
  400: 'WrappedKeyDamaged',
  401: 'KeyVaultDenied',
  // No permission, or the key is disabled or expired.
  403: 'KeyVaultDenied',
  404: 'KeyUnknown',
}
const NO_CREDENTIALS: ReadonlySet<unknown> = new Set([
  'AggregateAuthenticationError',
  'AuthenticationError',
  'AuthenticationRequiredError',
  'CredentialUnavailableError',
])

function explain(error: unknown): PackageError {
  if (!isRecord(error)) return { kind: undefined }
  if (NO_CREDENTIALS.has(error['name'])) return { kind: 'KeyVaultDenied' }
  return { kind: typeof error['statusCode'] === 'number' ? KINDS[error['statusCode']] : undefined }
}

class AzureKms implements KeyEnvelope {
  readonly name: string
  /** `https://NAME.vault.azure.net/keys/KEY`. */
  private readonly key: string
  private readonly version: string
  private readonly clients = new Map<string, CryptographyClient>()
  private credential: TokenCredential | undefined

  constructor(
    private readonly options: EnvelopeOptions,
    private readonly packages: AzurePackages,
  ) {
    this.name = `Azure Key Vault ${options.key}`
    const slash = options.key.lastIndexOf('/')
    this.key = options.key.slice(0, slash)
    this.version = options.key.slice(slash + 1)
  }

  async seal(_keyName: string, key: Uint8Array): Promise<string> {
    const { result } = await this.call(this.version, (client, abortSignal) =>
      client.wrapKey(ALGORITHM, key, { abortSignal }),
    )
    if (result === undefined) throw emptyAnswer(this.name)
    return `${this.version}.${Buffer.from(result).toString('base64')}`
  }

  async open(_keyName: string, sealed: string): Promise<Uint8Array> {
    const [version = '', text = ''] = sealed.split('.')
    const bytes = sealedBytes(this.name, text)
    if (!/^[0-9a-zA-Z-]+$/u.test(version))
      throw keyVaultError('WrappedKeyDamaged', `a key was not sealed by ${this.name}`)
    const { result } = await this.call(version, (client, abortSignal) =>
      client.unwrapKey(ALGORITHM, bytes, { abortSignal }),
    )
    if (result === undefined) throw emptyAnswer(this.name)
    return result
  }

  private async call<Result>(
    version: string,
    work: (client: CryptographyClient, signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    return await callEnvelope(this.name, this.options.timeoutMs ?? ENVELOPE_TIMEOUT_MS, explain, async (signal) =>
      work(await this.client(version), signal),
    )
  }

  private async client(version: string): Promise<CryptographyClient> {
    const known = this.clients.get(version)
    if (known !== undefined) return known
    const [keys, identity] = await Promise.all([
      loadPackage('@azure/keyvault-keys', this.packages.keys),
      loadPackage('@azure/identity', this.packages.identity),
    ])
    this.credential ??= new identity.DefaultAzureCredential()
    const isLocal = isLoopback(new URL(this.key).hostname)
    const client = new keys.CryptographyClient(`${this.key}/${version}`, this.credential, {
      retryOptions: RETRIES,
      // An emulator on this machine has no certificate and no name below the service's domain.
      ...(isLocal ? { allowInsecureConnection: true, disableChallengeResourceVerification: true } : {}),
    })
    this.clients.set(version, client)
    return client
  }
}

/** Creates an envelope under a key of Azure Key Vault. Nothing is loaded or called before the first use. */
export const createAzureKms = (
  options: EnvelopeOptions,
  packages: AzurePackages = {
    keys: () => import('@azure/keyvault-keys'),
    identity: () => import('@azure/identity'),
  },
): KeyEnvelope => new AzureKms(options, packages)
