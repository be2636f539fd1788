/** Keys in a scripted Vault: the contract, the calls, and every way in which a vault fails. */
import { afterEach, beforeEach, describe, expect, it, test } from '@jest/globals'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createVaultTransit } from '../../src/adapters/vault-transit/key-vault.js'
import type { KeyVault } from '../../src/ports/key-vault.js'
import { describeKeyVault } from '../contracts/key-vault.js'
import { startTransit, TOKEN, type TransitServer } from '../support/transit-server.js'

const environment = { ...process.env }
beforeEach(() => {
  process.env['VAULT_TOKEN'] = TOKEN
})
afterEach(() => {
  for (const name of ['VAULT_TOKEN', 'VAULT_NAMESPACE', 'HOME'])
    if (environment[name] === undefined) delete process.env[name]
    else process.env[name] = environment[name]
})

describeKeyVault('Vault transit', async () => {
  const server = await startTransit()
  const open = () => createVaultTransit({ server: server.server, mount: 'transit' })
  return { vault: open(), another: open, close: server.http.close }
})

describe('a vault', () => {
  let server: TransitServer
  let vault: KeyVault
  beforeEach(async () => {
    server = await startTransit()
    vault = client(30_000)
  })
  afterEach(() => server.http.close())
  const client = (timeoutMs: number): KeyVault =>
    createVaultTransit({ server: server.server, mount: 'transit', timeoutMs, retryDelayMs: 2 })
  const dataKey = new Uint8Array(32).fill(7)
  const wrap = () => vault.wrap('cl-a-1', dataKey)

  it('is called with the documented paths, and destroys a key by trimming it', async () => {
    const wrapped = await wrap()
    expect(wrapped).toMatch(/^vault:v1:/u)
    await vault.unwrap('cl-a-1', wrapped)
    await vault.destroy('cl-a-1')
    expect(server.http.calls).toEqual([
      'POST keys/cl-a-1',
      'POST encrypt/cl-a-1',
      'POST decrypt/cl-a-1',
      'POST keys/cl-a-1',
      'GET keys/cl-a-1',
      'POST keys/cl-a-1/rotate',
      'POST keys/cl-a-1/config',
      'POST keys/cl-a-1/trim',
      'GET keys/cl-a-1',
    ])
    server.change('cl-a-1', ({ versions }) => {
      expect([...versions.keys()]).toEqual([2])
    })
  })

  it.each(['rotate', 'config', 'trim'])('completes a destruction that ended at %s', async (step) => {
    const wrapped = await wrap()
    server.http.interfere = (call) => (call.endsWith(step) ? 'cut' : undefined)
    await expect(vault.destroy('cl-a-1')).rejects.toMatchObject({ kind: 'KeyVaultUnavailable' })
    server.http.interfere = () => undefined
    await vault.destroy('cl-a-1')
    await expect(vault.unwrap('cl-a-1', wrapped)).rejects.toMatchObject({ kind: 'KeyDestroyed' })
    await expect(wrap()).rejects.toMatchObject({ kind: 'KeyDestroyed' })
  })

  it('that only says that it trimmed the key is not believed', async () => {
    await wrap()
    server.http.interfere = (call) => (call.endsWith('trim') ? [200, {}] : undefined)
    await expect(vault.destroy('cl-a-1')).rejects.toMatchObject({ kind: 'KeyVaultUnavailable' })
  })

  it('in which an operator rotated the key still wraps under version 1, and destroys it', async () => {
    const wrapped = await wrap()
    server.change('cl-a-1', (key) => {
      key.versions.set(2, Buffer.alloc(32, 1))
      key.latest = 2
    })
    expect(await wrap()).toMatch(/^vault:v1:/u)
    expect(Uint8Array.from(await vault.unwrap('cl-a-1', wrapped))).toEqual(dataKey)
    await vault.destroy('cl-a-1')
    await expect(vault.unwrap('cl-a-1', wrapped)).rejects.toMatchObject({ kind: 'KeyDestroyed' })
  })

  it('in which version 1 is disabled, is named, and the key is not called destroyed', async () => {
    const wrapped = await wrap()
    server.change('cl-a-1', (key) => {
      Object.assign(key, { latest: 2, minDecryption: 2, minEncryption: 2 })
    })
    for (const call of [() => vault.unwrap('cl-a-1', wrapped), wrap])
      await expect(call()).rejects.toMatchObject({
        kind: 'KeyVaultDenied',
        message: expect.stringContaining('min_decryption_version'),
      })
  })

  it('that lost the key reports it as unknown', async () => {
    const wrapped = await wrap()
    server.forget('cl-a-1')
    await expect(vault.unwrap('cl-a-1', wrapped)).rejects.toMatchObject({ kind: 'KeyUnknown' })
  })

  it('is not asked to open a text that it did not write', async () => {
    const wrapped = await wrap()
    await expect(vault.unwrap('cl-a-1', wrapped.replace('v1', 'v2'))).rejects.toMatchObject({
      kind: 'WrappedKeyDamaged',
    })
    expect(server.http.calls).not.toContain('POST decrypt/cl-a-1')
  })

  test('every flipped bit of a wrapped text is found', async () => {
    const wrapped = await wrap()
    const bytes = Buffer.from(wrapped.slice('vault:v1:'.length), 'base64')
    for (let at = 0; at < bytes.length; at += 1) {
      const flipped = Buffer.from(bytes)
      flipped[at] = (flipped[at] ?? 0) ^ (1 << (at % 8))
      await expect(vault.unwrap('cl-a-1', `vault:v1:${flipped.toString('base64')}`)).rejects.toMatchObject({
        kind: 'WrappedKeyDamaged',
      })
    }
  })

  it.each([
    ['is sealed', [503, { errors: ['Vault is sealed'] }], 'KeyVaultUnavailable', 'Vault is sealed'],
    ['throttles', [429, { errors: ['request path rate limited'] }], 'KeyVaultUnavailable', '429'],
    ['denies', [403, { errors: ['permission denied'] }], 'KeyVaultDenied', 'VAULT_TOKEN'],
    ['has no such engine', [404, { errors: ['no handler for route'] }], 'KeyVaultUnavailable', 'no handler'],
    ['redirects', [307, undefined], 'KeyVaultUnavailable', 'active node'],
    ['answers a page', { text: '<html>hello</html>' }, 'KeyVaultUnavailable', 'no answer of Vault'],
    ['answers an empty object', [200, {}], 'KeyVaultUnavailable', 'no answer of Vault'],
    ['answers 1 MB', { text: 'x'.repeat(1_000_000) }, 'KeyVaultUnavailable', 'too large'],
    ['disconnects', 'cut', 'KeyVaultUnavailable', 'cannot be reached'],
    ['does not answer', 'hang', 'KeyVaultUnavailable', 'no answer within 150 ms'],
  ] as const)('that %s is an error that names it', async (_what, answer, kind, words) => {
    const wrapped = await wrap()
    if (answer === 'hang') vault = client(150)
    server.http.interfere = (call) => (call.startsWith('POST keys') ? undefined : answer)
    for (const call of [wrap, () => vault.unwrap('cl-a-1', wrapped), () => vault.destroy('cl-a-1')])
      await expect(call()).rejects.toMatchObject({ kind, message: expect.stringContaining(words) })
    await expect(wrap()).rejects.toMatchObject({ message: expect.stringContaining(server.server) })
    server.http.interfere = () => undefined
    expect(Uint8Array.from(await client(30_000).unwrap('cl-a-1', wrapped))).toEqual(dataKey)
  })

  it.each([429, 503])('that answers %i once is called again', async (status) => {
    const wrapped = await wrap()
    let isFirst = true
    server.http.interfere = () => {
      if (!isFirst) return undefined
      isFirst = false
      return [status, { errors: [] }]
    }
    expect(Uint8Array.from(await vault.unwrap('cl-a-1', wrapped))).toEqual(dataKey)
  })

  it('gets the token of the environment or of `vault login`, and the namespace', async () => {
    const home = await mkdtemp(join(tmpdir(), 'home-'))
    try {
      process.env['HOME'] = home
      process.env['VAULT_NAMESPACE'] = 'team'
      delete process.env['VAULT_TOKEN']
      await expect(wrap()).rejects.toMatchObject({ kind: 'KeyVaultDenied' })
      await writeFile(join(home, '.vault-token'), `${TOKEN}\n`)
      await wrap()
      expect(server.http.headers()).toMatchObject({ 'x-vault-token': TOKEN, 'x-vault-namespace': 'team' })
      await createVaultTransit({ server: server.server, mount: 'transit', namespace: 'other' }).wrap('cl-b-1', dataKey)
      expect(server.http.headers()).toMatchObject({ 'x-vault-namespace': 'other' })
    } finally {
      await rm(home, { recursive: true, force: true })
    }
  })
})

it('a vault that is not running is named', async () => {
  const server = await startTransit()
  await server.http.close()
  const vault = createVaultTransit({ server: server.server, mount: 'transit', timeoutMs: 2_000, retryDelayMs: 2 })
  await expect(vault.wrap('cl-a-1', new Uint8Array(32))).rejects.toMatchObject({
    kind: 'KeyVaultUnavailable',
    message: expect.stringContaining(server.server),
  })
})
