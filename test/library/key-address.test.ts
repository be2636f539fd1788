/** The addresses of keys: folders and vaults, and the errors that name what is wrong. */
import { expect, it } from '@jest/globals'
import { openLedger } from '../../src/library/compose.js'
import { absoluteKeys, parseKeyAddress } from '../../src/library/key-address.js'
import { ARN, CRYPTO_KEY } from '../support/kms-servers.js'

const AZURE_KEY = 'https://v.vault.azure.net/keys/ledger/78deebed173b48e48f55abf87ed4cf71'

it.each([
  ['/var/lib/keys', { kind: 'folder', folder: '/var/lib/keys' }],
  ['C:\\keys', { kind: 'folder', folder: 'C:\\keys' }],
  ['./a:b', { kind: 'folder', folder: './a:b' }],
  [
    'vault+https://v.example.org:8200/transit',
    { kind: 'vault', server: 'https://v.example.org:8200', mount: 'transit' },
  ],
  [
    'vault+http://127.0.0.1:8200/teams/a/transit/?namespace=one/two',
    { kind: 'vault', server: 'http://127.0.0.1:8200', mount: 'teams/a/transit', namespace: 'one/two' },
  ],
  [`aws-kms:${ARN}`, { kind: 'aws-kms', key: ARN, folder: undefined }],
  [`aws-kms:${ARN}?folder=/k?a=1`, { kind: 'aws-kms', key: ARN, folder: '/k?a=1' }],
  [`gcp-kms:${CRYPTO_KEY}?folder=k`, { kind: 'gcp-kms', key: CRYPTO_KEY, folder: 'k' }],
  [`azure-kms:${AZURE_KEY}`, { kind: 'azure-kms', key: AZURE_KEY }],
  ['azure-kms:http://127.0.0.1:8443/keys/k/1', { kind: 'azure-kms', key: 'http://127.0.0.1:8443/keys/k/1' }],
])('%s is an address', (text, address) => {
  expect(parseKeyAddress(text)).toMatchObject({ _tag: 'Right', right: address })
})

it.each([
  ['vault+https://', 'is no address'],
  ['vault+https://v.example.org', 'path of the transit engine'],
  ['vault+https://v.example.org/tran%20sit', 'path of the transit engine'],
  ['vault+https://me:pw@v.example.org/transit', 'VAULT_TOKEN'],
  ['vault+http://v.example.org/transit', 'unencrypted'],
  ['vault+https://v.example.org/transit?token=x', 'parameter token'],
  ['vault+https://v.example.org/transit#x', 'fragment'],
  ['vault+https://v.example.org/transit?namespace=a b', 'namespace'],
  ['vault://v.example.org/transit', 'unknown scheme vault'],
  ['https://v.example.org/transit', 'unknown scheme https'],
  ['aws-kms:', 'must be aws-kms:arn:aws:kms'],
  ['aws-kms:arn:aws:kms:eu-central-1:111122223333:alias/ledger', 'an alias'],
  [`aws-kms:${ARN}?folder=`, 'empty folder'],
  [`aws-kms:${ARN}?region=x`, 'must be aws-kms:'],
  ['gcp-kms:projects/p', 'must be gcp-kms:projects/'],
  [`gcp-kms:${CRYPTO_KEY}/cryptoKeyVersions/1`, 'must be gcp-kms:projects/'],
  ['azure-kms:https://v.vault.azure.net/keys/k', 'KEY/VERSION'],
  ['azure-kms:https://me:pw@v.vault.azure.net/keys/k/1', 'KEY/VERSION'],
  ['azure-kms:http://v.vault.azure.net/keys/k/1', 'unencrypted'],
])('%s is rejected', async (text, words) => {
  expect(parseKeyAddress(text)).toMatchObject({ _tag: 'Left', left: expect.stringContaining(words) })
  await expect(openLedger({ store: 'memory', erasable: true, keys: text })).rejects.toMatchObject({
    kind: 'BadInput',
    message: expect.stringMatching(/^keys /u),
  })
})

it('a relative folder is made absolute, an address is not', () => {
  expect(absoluteKeys('keys', '/home/me')).toBe('/home/me/keys')
  expect(absoluteKeys('/keys', '/home/me')).toBe('/keys')
  expect(absoluteKeys(`gcp-kms:${CRYPTO_KEY}?folder=k`, '/home/me')).toBe(`gcp-kms:${CRYPTO_KEY}?folder=/home/me/k`)
  expect(absoluteKeys(`aws-kms:${ARN}`, '/home/me')).toBe(`aws-kms:${ARN}`)
  expect(absoluteKeys('vault+https://v/transit', '/home/me')).toBe('vault+https://v/transit')
})
