/**
 * Seals keys with a symmetric key of Google Cloud KMS, over HTTP and JSON. Credentials are those of the environment
 * (Application Default Credentials).
 */
import type { KeyManagementServiceClient } from '@google-cloud/kms'
import { z } from 'zod'
import { isRecord } from '../../lib/is-record.js'
import type { KeyEnvelope } from '../../ports/key-envelope.js'
import { keyVaultError, type KeyVaultErrorKind } from '../../ports/key-vault.js'
import { sentenceOf } from '../../ports/store-error.js'
import {
  callEnvelope,
  emptyAnswer,
  ENVELOPE_TIMEOUT_MS,
  loadPackage,
  openedOnce,
  sealedBytes,
  type EnvelopeOptions,
  type PackageError,
} from '../cloud-kms-call.js'

type Sdk = typeof import('@google-cloud/kms')

/** Options of the client that a private endpoint needs. */
export interface GcpEndpoint {
  readonly apiEndpoint: string
  readonly port: number
  readonly protocol: string
}

/** The codes of gRPC. Over HTTP, the package has them or the status of HTTP, and the body as its message. */
const CODES: Readonly<Record<string, number>> = {
  INVALID_ARGUMENT: 3,
  NOT_FOUND: 5,
  PERMISSION_DENIED: 7,
  FAILED_PRECONDITION: 9,
  UNAUTHENTICATED: 16,
}
const KINDS: Readonly<Record<number, KeyVaultErrorKind>> = {
  3: 'WrappedKeyDamaged',
  5: 'KeyUnknown',
  7: 'KeyVaultDenied',
  // The version of the key is disabled or destroyed.
  9: 'KeyVaultDenied',
  16: 'KeyVaultDenied',
}
/** No answer in time, and unavailable, of gRPC and HTTP. */
const RETRIED = [4, 14, 503, 504]

const bodySchema = z.object({ error: z.object({ status: z.string(), message: z.string() }) })

function explain(error: unknown): PackageError {
  if (!isRecord(error)) return { kind: undefined }
  const body = bodySchema.safeParse(jsonOf(error['message'])).data?.error
  const code = body === undefined ? error['code'] : CODES[body.status]
  return {
    kind: typeof code === 'number' ? KINDS[code] : undefined,
    sentence: body === undefined ? undefined : `${body.status}: ${body.message}`,
  }
}

function jsonOf(text: unknown): unknown {
  try {
    return typeof text === 'string' ? JSON.parse(text) : undefined
  } catch {
    return undefined
  }
}

class GcpKms implements KeyEnvelope {
  readonly name: string
  private readonly opened = openedOnce(() => this.connect())

  constructor(
    private readonly options: EnvelopeOptions,
    private readonly load: () => Promise<Sdk>,
    private readonly endpoint: GcpEndpoint | undefined,
  ) {
    this.name = `Google Cloud KMS ${options.key}`
  }

  async seal(keyName: string, key: Uint8Array): Promise<string> {
    const [{ ciphertext }] = await this.call((client, limits) =>
      client.encrypt({ ...this.named(keyName), plaintext: key }, limits),
    )
    return this.bytes(ciphertext).toString('base64')
  }

  async open(keyName: string, sealed: string): Promise<Uint8Array> {
    const bytes = sealedBytes(this.name, sealed)
    const [{ plaintext }] = await this.call((client, limits) =>
      client.decrypt({ ...this.named(keyName), ciphertext: bytes }, limits),
    )
    return this.bytes(plaintext)
  }

  /** The key of the service, and the name as authenticated data. */
  private named(keyName: string) {
    return { name: this.options.key, additionalAuthenticatedData: Buffer.from(keyName) }
  }

  private bytes(value: Uint8Array | string | null | undefined): Buffer {
    if (value === undefined || value === null || value.length === 0) throw emptyAnswer(this.name)
    return typeof value === 'string' ? Buffer.from(value, 'base64') : Buffer.from(value)
  }

  private async call<Result>(
    work: (client: KeyManagementServiceClient, limits: ReturnType<typeof limitsOf>) => Promise<Result>,
  ): Promise<Result> {
    const timeoutMs = this.options.timeoutMs ?? ENVELOPE_TIMEOUT_MS
    return await callEnvelope(this.name, timeoutMs, explain, async () => {
      const client = await this.opened()
      await this.authenticate(client)
      return await work(client, limitsOf(timeoutMs))
    })
  }

  private async connect(): Promise<KeyManagementServiceClient> {
    const { KeyManagementServiceClient } = await loadPackage('@google-cloud/kms', this.load)
    return new KeyManagementServiceClient({ fallback: true, ...this.endpoint })
  }

  /** Finds the credentials before the call, because the package has no code for missing ones. */
  private async authenticate(client: KeyManagementServiceClient): Promise<void> {
    try {
      await client.auth.getClient()
    } catch (error) {
      throw keyVaultError('KeyVaultDenied', `${this.name} has no credentials: ${sentenceOf(error)}`, error)
    }
  }
}

/** By default, the package retries for ten minutes, and keeps the process alive. */
const limitsOf = (timeoutMs: number) => ({
  timeout: timeoutMs,
  retry: {
    retryCodes: RETRIED,
    backoffSettings: {
      initialRetryDelayMillis: 100,
      retryDelayMultiplier: 2,
      maxRetryDelayMillis: 1_000,
      initialRpcTimeoutMillis: timeoutMs,
      rpcTimeoutMultiplier: 1,
      maxRpcTimeoutMillis: timeoutMs,
      totalTimeoutMillis: timeoutMs,
    },
  },
})

/** Creates an envelope under a key of Google Cloud KMS. Nothing is loaded or called before the first use. */
export const createGcpKms = (
  options: EnvelopeOptions,
  load: () => Promise<Sdk> = () => import('@google-cloud/kms'),
  endpoint?: GcpEndpoint,
): KeyEnvelope => new GcpKms(options, load, endpoint)
