/** The packages of clouds are loaded when a key is sealed or opened, and their errors are those of a key vault. */
import { expect, it } from '@jest/globals'
import { createAwsKms } from '../../src/adapters/aws-kms/key-envelope.js'
import { createAzureKms } from '../../src/adapters/azure-kms/key-envelope.js'
import { createGcpKms } from '../../src/adapters/gcp-kms/key-envelope.js'
import { sealedBytes } from '../../src/adapters/cloud-kms-call.js'
import type { KeyEnvelope } from '../../src/ports/key-envelope.js'

type Load = () => Promise<never>

const CLOUDS: readonly (readonly [name: string, open: (load: Load) => KeyEnvelope])[] = [
  ['@aws-sdk/client-kms', (load) => createAwsKms({ key: 'arn:aws:kms:r:1:key/1' }, load)],
  ['@google-cloud/kms', (load) => createGcpKms({ key: 'projects/p' }, load, undefined)],
  ['@azure/keyvault-keys', (load) => createAzureKms({ key: 'https://v/keys/k/1' }, { keys: load, identity: load })],
]

const failure = (code: string, message: string): Error => Object.assign(new Error(message), { code })

it.each(CLOUDS)('%s is loaded again after each failure, and only its own absence is reported', async (name, open) => {
  const failures = [
    failure('EMFILE', 'too many open files'),
    failure('ERR_MODULE_NOT_FOUND', `Cannot find package 'tslib' imported from /node_modules/${name}/index.js`),
    failure('ERR_MODULE_NOT_FOUND', `Cannot find package '${name}' imported from /app/index.js`),
  ]
  let next = 0
  const envelope = open(() => Promise.reject(failures[next] ?? new Error('loaded too often')))
  const errors: string[] = []
  for (; next < failures.length; next += 1) {
    const error: unknown = await envelope.seal('k', new Uint8Array(32)).catch((caught: unknown) => caught)
    expect(error).toMatchObject({ kind: 'KeyVaultUnavailable' })
    errors.push(error instanceof Error ? error.message : '')
  }
  expect(errors).toEqual([
    expect.stringContaining('too many open files'),
    expect.stringContaining("Cannot find package 'tslib'"),
    expect.stringContaining(`npm install ${name}`),
  ])
})

it.each(['', 'A', 'AA', 'AB==', 'A A=', 'AAAA='])('%j is no sealed key', (sealed) => {
  expect(() => sealedBytes('the vault', sealed)).toThrow('was not sealed by the vault')
})
