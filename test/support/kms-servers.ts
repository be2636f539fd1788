/**
 * Scripted servers that speak the documented calls of three key management services, for the packages of their clouds.
 * Each has one key, which encrypts with AES-GCM and authenticates what the caller names.
 */
import { createCipheriv, createDecipheriv, generateKeyPairSync, randomBytes } from 'node:crypto'
import { startScripted, type ScriptedAnswer, type ScriptedServer } from './loopback-server.js'

export interface KmsServer {
  readonly http: ScriptedServer
  /** The key, as the service names it. */
  readonly key: string
  /** Variables of the environment that the package reads. */
  readonly environment: Readonly<Record<string, string>>
}

/** Encrypts and decrypts with one key. Undefined if a text is not its own, or has other associated data. */
function createCipher() {
  const key = randomBytes(32)
  return {
    encrypt(plain: Buffer, aad: string): Buffer {
      const iv = randomBytes(12)
      const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(aad))
      return Buffer.concat([iv, cipher.update(plain), cipher.final(), cipher.getAuthTag()])
    },
    decrypt(sealed: Buffer, aad: string): Buffer | undefined {
      try {
        const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, 12))
          .setAAD(Buffer.from(aad))
          .setAuthTag(sealed.subarray(-16))
        return Buffer.concat([decipher.update(sealed.subarray(12, -16)), decipher.final()])
      } catch {
        return undefined
      }
    },
  }
}

const bytesIn = (body: Readonly<Record<string, unknown>>, field: string): Buffer =>
  Buffer.from(String(body[field]), 'base64')

export const ARN = 'arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab'

/** AWS JSON 1.1: calls are named `Encrypt` and `Decrypt`. */
export async function startAwsKms(): Promise<KmsServer> {
  const cipher = createCipher()
  const nameOf = (headers: Readonly<Record<string, unknown>>): string =>
    String(headers['x-amz-target']).replace('TrentService.', '')
  const http = await startScripted(
    ({ headers, body }): ScriptedAnswer => {
      if (!/^AWS4-HMAC-SHA256 Credential=AKTEST\/\d+\/eu-central-1\/kms\//u.test(headers.authorization ?? ''))
        return [400, { __type: 'UnrecognizedClientException', message: 'The security token is invalid' }]
      if (body['KeyId'] !== ARN) return [400, { __type: 'NotFoundException', message: 'no such key' }]
      const aad = JSON.stringify(body['EncryptionContext'])
      if (nameOf(headers) === 'Encrypt') {
        const CiphertextBlob = cipher.encrypt(bytesIn(body, 'Plaintext'), aad).toString('base64')
        return [200, { CiphertextBlob, KeyId: ARN, EncryptionAlgorithm: 'SYMMETRIC_DEFAULT' }]
      }
      const plain = cipher.decrypt(bytesIn(body, 'CiphertextBlob'), aad)
      return plain === undefined
        ? [400, { __type: 'InvalidCiphertextException' }]
        : [200, { Plaintext: plain.toString('base64'), KeyId: ARN, EncryptionAlgorithm: 'SYMMETRIC_DEFAULT' }]
    },
    ({ headers }) => nameOf(headers),
  )
  return {
    http,
    key: ARN,
    environment: {
      AWS_ENDPOINT_URL_KMS: `http://${http.address}`,
      AWS_ACCESS_KEY_ID: 'AKTEST',
      AWS_SECRET_ACCESS_KEY: 'secret',
      AWS_EC2_METADATA_DISABLED: 'true',
    },
  }
}

export const CRYPTO_KEY = 'projects/p/locations/europe-west3/keyRings/r/cryptoKeys/k'

/** Google's REST calls: named `encrypt` and `decrypt`. Errors have Google's own form. */
export async function startGcpKms(): Promise<KmsServer> {
  const cipher = createCipher()
  const failed = (code: number, status: string, message: string): ScriptedAnswer => [
    code,
    { error: { code, message, status } },
  ]
  const http = await startScripted(
    ({ path, headers, body }): ScriptedAnswer => {
      if (!/^Bearer .+/u.test(headers.authorization ?? '')) return failed(401, 'UNAUTHENTICATED', 'no token')
      if (!path.startsWith(`/v1/${CRYPTO_KEY}:`)) return failed(404, 'NOT_FOUND', 'no such key')
      const aad = String(body['additionalAuthenticatedData'])
      if (path.includes(':encrypt')) {
        const ciphertext = cipher.encrypt(bytesIn(body, 'plaintext'), aad).toString('base64')
        return [200, { name: `${CRYPTO_KEY}/cryptoKeyVersions/1`, ciphertext }]
      }
      const plain = cipher.decrypt(bytesIn(body, 'ciphertext'), aad)
      return plain === undefined
        ? failed(400, 'INVALID_ARGUMENT', 'Decryption failed')
        : [200, { plaintext: plain.toString('base64') }]
    },
    ({ path }) => /:(\w+)/u.exec(path)?.[1] ?? path,
  )
  return { http, key: CRYPTO_KEY, environment: { GOOGLE_CLOUD_PROJECT: 'p' } }
}

/** Credentials of a service account, with which the package signs tokens itself. */
export const serviceAccount = (): string =>
  JSON.stringify({
    type: 'service_account',
    project_id: 'p',
    private_key_id: '1',
    private_key: generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({
      type: 'pkcs8',
      format: 'pem',
    }),
    client_email: 'ledger@p.iam.gserviceaccount.com',
  })

const VERSION = '78deebed173b48e48f55abf87ed4cf71'

/** Azure's REST calls: named `get`, `wrapkey` and `unwrapkey`, and `token` of a managed identity. */
export async function startAzureKms(): Promise<KmsServer> {
  const cipher = createCipher()
  const kid = (): string => `http://${http.address}/keys/ledger/${VERSION}`
  const answer = (action: string, body: Readonly<Record<string, unknown>>): ScriptedAnswer => {
    if (action === 'get')
      return [
        200,
        { key: { kid: kid(), kty: 'RSA', key_ops: ['wrapKey', 'unwrapKey'] }, attributes: { enabled: true } },
      ]
    const value = Buffer.from(String(body['value']), 'base64url')
    const result = action === 'wrapkey' ? cipher.encrypt(value, '') : cipher.decrypt(value, '')
    return result === undefined
      ? [400, { error: { code: 'BadParameter', message: 'The parameter is incorrect.' } }]
      : [200, { kid: kid(), value: result.toString('base64url') }]
  }
  const nameOf = (path: string): string => {
    const [name = ''] = path.split('?')
    return name === '/token' ? 'token' : name.endsWith(VERSION) ? 'get' : (name.split('/').at(-1) ?? '')
  }
  const http = await startScripted(
    ({ path, headers, body }): ScriptedAnswer => {
      if (nameOf(path) === 'token') {
        const expires_on = String(Math.floor(Date.now() / 1_000) + 86_400)
        return [200, { access_token: 'managed', expires_on, resource: 'r', token_type: 'Bearer' }]
      }
      if (headers.authorization !== 'Bearer managed') {
        const challenge = 'Bearer authorization="https://login.example/t", resource="https://vault.azure.net"'
        return [401, { error: { code: 'Unauthorized' } }, { 'www-authenticate': challenge }]
      }
      if (!path.startsWith(`/keys/ledger/${VERSION}`)) return [404, { error: { code: 'KeyNotFound' } }]
      return answer(nameOf(path), body)
    },
    ({ path }) => nameOf(path),
  )
  return {
    http,
    key: kid(),
    environment: {
      AZURE_TOKEN_CREDENTIALS: 'ManagedIdentityCredential',
      IDENTITY_ENDPOINT: `http://${http.address}/token`,
      IDENTITY_HEADER: 'header',
    },
  }
}
