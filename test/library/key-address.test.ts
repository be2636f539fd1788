/** The addresses of keys: folders and vaults, and the errors that name what is wrong. */
import { expect, it } from '@jest/globals'
import { openLedger } from '../../src/library/compose.js'
import { absoluteKeys, parseKeyAddress } from '../../src/library/key-address.js'

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
  expect(absoluteKeys('vault+https://v/transit', '/home/me')).toBe('vault+https://v/transit')
})
