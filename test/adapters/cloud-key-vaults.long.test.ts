/**
 * Key folders that the services of three clouds seal, through the packages of these clouds, against scripted servers:
 * the contract of a key vault, and the failures of a service.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it, test } from '@jest/globals'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { createAwsKms } from '../../src/adapters/aws-kms/key-envelope.js'
import { createAzureKms } from '../../src/adapters/azure-kms/key-envelope.js'
import { createKeyFolder } from '../../src/adapters/file/key-folder.js'
import { createGcpKms } from '../../src/adapters/gcp-kms/key-envelope.js'
import type { KeyEnvelope } from '../../src/ports/key-envelope.js'
import { describeKeyVault } from '../contracts/key-vault.js'
import { serviceAccount, startAwsKms, startAzureKms, startGcpKms, type KmsServer } from '../support/kms-servers.js'
import type { Interference } from '../support/loopback-server.js'

interface Cloud {
  readonly name: string
  readonly start: () => Promise<KmsServer>
  readonly open: (server: KmsServer, timeoutMs?: number) => KeyEnvelope
  /** The call that opens a sealed key. */
  readonly opening: string
  /** A variable without which the package has no credentials, and its wrong value. */
  readonly credentials: readonly [name: string, wrong: string]
  readonly denied: Interference
  readonly throttled: Interference
  readonly disabled: Interference
  readonly missing: Interference
}

const gcpError = (code: number, status: string): Interference => [code, { error: { code, status, message: status } }]
const azureError = (code: number, name: string): Interference => [code, { error: { code: name, message: name } }]
const awsError = (name: string): Interference => [400, { __type: name, message: name }]

const CLOUDS: readonly Cloud[] = [
  {
    name: 'AWS KMS',
    start: startAwsKms,
    open: ({ key }, timeoutMs) => createAwsKms({ key, timeoutMs }),
    opening: 'Decrypt',
    credentials: ['AWS_ACCESS_KEY_ID', 'AKOTHER'],
    denied: awsError('AccessDeniedException'),
    throttled: awsError('ThrottlingException'),
    disabled: awsError('KMSInvalidStateException'),
    missing: awsError('NotFoundException'),
  },
  {
    name: 'Google Cloud KMS',
    start: startGcpKms,
    open: ({ key, http }, timeoutMs) => {
      const [apiEndpoint = '', port] = http.address.split(':')
      return createGcpKms({ key, timeoutMs }, undefined, { apiEndpoint, port: Number(port), protocol: 'http' })
    },
    opening: 'decrypt',
    credentials: ['GOOGLE_APPLICATION_CREDENTIALS', '/nowhere'],
    denied: gcpError(403, 'PERMISSION_DENIED'),
    throttled: gcpError(429, 'RESOURCE_EXHAUSTED'),
    disabled: gcpError(400, 'FAILED_PRECONDITION'),
    missing: gcpError(404, 'NOT_FOUND'),
  },
  {
    name: 'Azure Key Vault',
    start: startAzureKms,
    open: ({ key }, timeoutMs) => createAzureKms({ key, timeoutMs }),
    opening: 'unwrapkey',
    credentials: ['AZURE_TOKEN_CREDENTIALS', 'EnvironmentCredential'],
    denied: azureError(403, 'Forbidden'),
    throttled: azureError(429, 'Throttled'),
    disabled: azureError(403, 'KeyDisabled'),
    missing: azureError(404, 'KeyNotFound'),
  },
]

let parent: string
beforeAll(async () => {
  parent = await mkdtemp(join(tmpdir(), 'clouds-'))
  await writeFile(join(parent, 'account.json'), serviceAccount())
  process.env['GOOGLE_APPLICATION_CREDENTIALS'] = join(parent, 'account.json')
})
afterAll(() => rm(parent, { recursive: true, force: true }))

const folderOf = () => mkdtemp(join(parent, 'keys-'))

describe.each(CLOUDS)('$name', (cloud) => {
  let server: KmsServer
  beforeAll(async () => {
    server = await cloud.start()
    Object.assign(process.env, server.environment)
  })
  afterAll(async () => {
    for (const name of Object.keys(server.environment)) delete process.env[name]
    await server.http.close()
  })
  beforeEach(() => {
    server.http.interfere = () => undefined
  })
  const dataKey = new Uint8Array(32).fill(7)

  describeKeyVault(`folder sealed by ${cloud.name}`, async () => {
    const folder = await folderOf()
    const open = () => createKeyFolder(folder, cloud.open(server))
    return { vault: open(), another: open, close: async () => undefined }
  })

  it('seals the files, each of which opens nothing without the service', async () => {
    const folder = await folderOf()
    const vault = createKeyFolder(folder, cloud.open(server))
    expect(vault.name).toContain(server.key)
    const wrapped = await vault.wrap('cl-a-1', dataKey)
    const text = await readFile(join(folder, 'cl-a-1.key'), 'utf8')
    expect(text).toMatch(/^context-ledger key sealed 1 \S+\n$/u)
    await expect(createKeyFolder(folder).unwrap('cl-a-1', wrapped)).rejects.toMatchObject({
      kind: 'KeyUnknown',
      message: expect.stringContaining('--keys'),
    })
    await vault.destroy('cl-a-1')
    expect(await readFile(join(folder, 'cl-a-1.key'), 'utf8')).toBe('context-ledger key destroyed\n')
  })

  it('destroys a key while the service is down', async () => {
    const vault = createKeyFolder(await folderOf(), cloud.open(server, 500))
    const wrapped = await vault.wrap('cl-a-1', dataKey)
    server.http.interfere = () => 'cut'
    await vault.destroy('cl-a-1')
    await expect(vault.unwrap('cl-a-1', wrapped)).rejects.toMatchObject({ kind: 'KeyDestroyed' })
  })

  test('every flipped byte of a sealed key is found', async () => {
    const envelope = cloud.open(server)
    const sealed = await envelope.seal('cl-a-1', dataKey)
    const [version, text = sealed] = sealed.includes('.') ? sealed.split('.') : [undefined, sealed]
    const bytes = Buffer.from(text, 'base64')
    for (let at = 0; at < bytes.length; at += 3) {
      const flipped = Buffer.from(bytes)
      flipped[at] = (flipped[at] ?? 0) ^ 1
      const damaged = `${version === undefined ? '' : `${version}.`}${flipped.toString('base64')}`
      await expect(envelope.open('cl-a-1', damaged)).rejects.toMatchObject({ kind: 'WrappedKeyDamaged' })
    }
    for (const damaged of ['', '%', 'a b'])
      await expect(envelope.open('cl-a-1', damaged)).rejects.toMatchObject({ kind: 'WrappedKeyDamaged' })
  })

  it.each([
    ['denies', cloud.denied, 'KeyVaultDenied'],
    ['has its key disabled', cloud.disabled, 'KeyVaultDenied'],
    ['does not have its key', cloud.missing, 'KeyUnknown'],
    ['throttles', cloud.throttled, 'KeyVaultUnavailable'],
    ['is in trouble', [500, {}], 'KeyVaultUnavailable'],
    ['answers a page', { text: '<html>hello</html>' }, 'KeyVaultUnavailable'],
    ['answers an empty object', [200, {}], 'KeyVaultUnavailable'],
    ['disconnects', 'cut', 'KeyVaultUnavailable'],
    ['does not answer', 'hang', 'KeyVaultUnavailable'],
  ] as const)('a service that %s is an error that names it, and nothing is lost', async (_what, answer, kind) => {
    const folder = await folderOf()
    const vault = createKeyFolder(folder, cloud.open(server, 400))
    const wrapped = await vault.wrap('cl-a-1', dataKey)
    server.http.interfere = (call) => (call === cloud.opening ? answer : undefined)
    const failure = { kind, message: expect.stringContaining(server.key) }
    await expect(vault.unwrap('cl-a-1', wrapped)).rejects.toMatchObject(failure)
    await expect(vault.wrap('cl-b-1', dataKey)).rejects.toMatchObject(failure)
    // A key that the service could not open again was not created.
    expect(await readdir(folder)).toEqual(['cl-a-1.key'])
    server.http.interfere = () => undefined
    expect(Uint8Array.from(await vault.unwrap('cl-a-1', wrapped))).toEqual(dataKey)
    await vault.wrap('cl-b-1', dataKey)
  })

  it('that is unavailable once is called again', async () => {
    const envelope = cloud.open(server)
    const sealed = await envelope.seal('cl-a-1', dataKey)
    let isFirst = true
    server.http.interfere = (call) => {
      if (!isFirst || call !== cloud.opening) return undefined
      isFirst = false
      return [503, {}]
    }
    expect(Uint8Array.from(await envelope.open('cl-a-1', sealed))).toEqual(dataKey)
  })

  it('never puts a key into an error', async () => {
    server.http.interfere = (call) => (call === 'get' || call === 'token' ? undefined : cloud.denied)
    const failure: unknown = await cloud
      .open(server)
      .seal('cl-a-1', dataKey)
      .catch((error: unknown) => error)
    const text = inspect(failure, { depth: Infinity, showHidden: true })
    expect(text).toContain('KeyVaultDenied')
    expect(text).not.toContain(Buffer.from(dataKey).toString('base64').slice(0, 20))
  })

  it('without valid credentials, is an error that names the service', async () => {
    const [name, wrong] = cloud.credentials
    const former = process.env[name]
    process.env[name] = wrong
    try {
      await expect(cloud.open(server, 2_000).seal('cl-a-1', dataKey)).rejects.toMatchObject({
        kind: 'KeyVaultDenied',
        message: expect.stringContaining(server.key),
      })
    } finally {
      process.env[name] = former
    }
  })
})
