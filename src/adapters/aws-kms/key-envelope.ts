/** Seals keys with a symmetric key of AWS KMS. Credentials and endpoint are those of the AWS SDK's environment. */
import type { KMSClient } from '@aws-sdk/client-kms'
import { isRecord } from '../../lib/is-record.js'
import type { KeyEnvelope } from '../../ports/key-envelope.js'
import type { KeyVaultErrorKind } from '../../ports/key-vault.js'
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

type Sdk = typeof import('@aws-sdk/client-kms')

const KINDS: Readonly<Record<string, KeyVaultErrorKind>> = {
  InvalidCiphertextException: 'WrappedKeyDamaged',
  IncorrectKeyException: 'WrappedKeyDamaged',
  NotFoundException: 'KeyUnknown',
  // Disabled, or scheduled for deletion.
  DisabledException: 'KeyVaultDenied',
  KMSInvalidStateException: 'KeyVaultDenied',
  AccessDeniedException: 'KeyVaultDenied',
  ExpiredTokenException: 'KeyVaultDenied',
  InvalidSignatureException: 'KeyVaultDenied',
  UnrecognizedClientException: 'KeyVaultDenied',
  // The SDK found no credentials.
  CredentialsProviderError: 'KeyVaultDenied',
  TokenProviderError: 'KeyVaultDenied',
}

const explain = (error: unknown): PackageError => ({
  kind: isRecord(error) && typeof error['name'] === 'string' ? KINDS[error['name']] : undefined,
})

class AwsKms implements KeyEnvelope {
  readonly name: string
  private readonly opened = openedOnce(() => this.connect())

  constructor(
    private readonly options: EnvelopeOptions,
    private readonly load: () => Promise<Sdk>,
  ) {
    this.name = `AWS KMS ${options.key}`
  }

  async seal(keyName: string, key: Uint8Array): Promise<string> {
    const { CiphertextBlob } = await this.call(({ sdk, client }, abortSignal) =>
      client.send(new sdk.EncryptCommand({ ...this.named(keyName), Plaintext: key }), { abortSignal }),
    )
    if (CiphertextBlob === undefined) throw emptyAnswer(this.name)
    return Buffer.from(CiphertextBlob).toString('base64')
  }

  async open(keyName: string, sealed: string): Promise<Uint8Array> {
    const CiphertextBlob = sealedBytes(this.name, sealed)
    const { Plaintext } = await this.call(({ sdk, client }, abortSignal) =>
      client.send(new sdk.DecryptCommand({ ...this.named(keyName), CiphertextBlob }), { abortSignal }),
    )
    if (Plaintext === undefined) throw emptyAnswer(this.name)
    return Plaintext
  }

  /** The key of the service, and the name as authenticated data. */
  private named(keyName: string) {
    return { KeyId: this.options.key, EncryptionContext: { 'context-ledger-key': keyName } }
  }

  private async call<Result>(
    work: (opened: { readonly sdk: Sdk; readonly client: KMSClient }, signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    return await callEnvelope(this.name, this.options.timeoutMs ?? ENVELOPE_TIMEOUT_MS, explain, async (signal) =>
      work(await this.opened(), signal),
    )
  }

  private async connect() {
    const sdk = await loadPackage('@aws-sdk/client-kms', this.load)
    // arn:aws:kms:REGION:ACCOUNT:key/ID
    const region = this.options.key.split(':')[3] ?? ''
    return { sdk, client: new sdk.KMSClient({ region }) }
  }
}

/** Creates an envelope under a key of AWS KMS. Nothing is loaded or called before the first use. */
export const createAwsKms = (
  options: EnvelopeOptions,
  load: () => Promise<Sdk> = () => import('@aws-sdk/client-kms'),
): KeyEnvelope => new AwsKms(options, load)
