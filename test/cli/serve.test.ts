/** `serve` and `keys` on the command line: options rejected before it listens, keys shown once, orderly shutdown. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { runCli, spawnCli, startCli } from '../support/cli.js'
import { certificateIn, certificateOfTime } from '../support/kurrentdb/certificate.js'
import { keepEngines } from '../support/kept-engines.js'
import { longTest } from '../support/length.js'

keepEngines()

let cwd: string
beforeAll(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'ledger-serve-'))
})
afterAll(async () => {
  await rm(cwd, { recursive: true, force: true })
})

it.each([
  [['--host', '0.0.0.0'], '--tls-cert and --tls-key, or --behind-tls-proxy'],
  [['--host', '0.0.0.0', '--behind-tls-proxy', 'nginx'], 'the ledger has no keys'],
  [['--tls-cert', 'none.pem'], '--tls-cert requires --tls-key'],
  [['--tls-cert', 'none.pem', '--tls-key', 'none.pem'], '--tls-cert none.pem cannot be read'],
  [['--port', '99999'], '--port must be at most 65535'],
  [['--request-timeout', '1e9'], '--request-timeout'],
])('serve %j is refused before it listens', async (words, sentence) => {
  const { status, stderr, stdout } = await runCli(['serve', ...words], { cwd })
  expect([status, stdout]).toEqual([2, ''])
  expect(stderr).toContain(sentence)
})

describe('with TLS', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(cwd, 'tls-'))
    await certificateIn(folder)
    const { key } = await certificateIn(await mkdtemp(join(cwd, 'other-')))
    writeFileSync(join(folder, 'other-key.pem'), key)
    writeFileSync(join(folder, 'notes.pem'), 'a certificate, to come')
  })

  it.each([
    ['none.pem', 'key.pem', '--tls-cert none.pem cannot be read'],
    ['certificate.pem', 'none.pem', '--tls-key none.pem cannot be read'],
    ['notes.pem', 'key.pem', '--tls-cert notes.pem is not a PEM certificate'],
    ['certificate.pem', 'notes.pem', '--tls-key notes.pem is not a PEM private key'],
    ['key.pem', 'certificate.pem', '--tls-cert key.pem is not a PEM certificate'],
    ['certificate.pem', 'other-key.pem', '--tls-key other-key.pem is not the key of --tls-cert certificate.pem'],
  ])('%s and %s are refused before it listens', async (cert, key, sentence) => {
    const { status, stderr } = await runCli(['serve', '--tls-cert', cert, '--tls-key', key], { cwd: folder })
    expect([status, stderr]).toEqual([2, expect.stringContaining(sentence)])
  })

  it.each([
    ['20200101000000Z', '20210203040506Z', 'CN=localhost expired at 2021-02-03T04:05:06.000Z; clients'],
    ['20990101000000Z', '21000101000000Z', 'CN=localhost is not valid before 2099-01-01T00:00:00.000Z (it is now 20'],
  ])('a certificate of %s to %s is warned of, also where another hangs on it', async (from, to, sentence) => {
    const single = await certificateOfTime(folder, from, to)
    const chain = join(folder, 'behind.pem')
    writeFileSync(chain, `${await readFile(join(folder, 'certificate.pem'), 'utf8')}${await readFile(single, 'utf8')}`)
    for (const file of [single, chain]) {
      const words = ['serve', '--host', '0.0.0.0', '--tls-cert', file, '--tls-key', 'key.pem']
      const { status, stderr } = await runCli(words, { cwd: folder })
      // The warning does not stop it; the missing keys do.
      expect([status, stderr]).toEqual([2, expect.stringContaining('the ledger has no keys')])
      expect(stderr).toContain(`warning: --tls-cert ${file}: the certificate of ${sentence}`)
    }
  })

  longTest('shakes hands with who trusts its certificate, and with nobody else', async () => {
    const child = startCli(['serve', '--port', '0', '--tls-cert', 'certificate.pem', '--tls-key', 'key.pem'], {
      cwd: folder,
    })
    try {
      const [said] = z.tuple([z.instanceof(Buffer)]).parse(await once(child.stdout, 'data'))
      const store = `https://localhost:${new URL(String(said).trim()).port}`
      writeFileSync(join(folder, 'chat.jsonl'), '{"role":"user","content":"over TLS"}\n')
      const trusting = { cwd: folder, env: { NODE_EXTRA_CA_CERTS: join(folder, 'certificate.pem') } }
      expect((await spawnCli(['import', 'chat.jsonl', '--store', store], trusting)).stdout).toContain('1 message')
      expect((await spawnCli(['context', 'chat', '--store', store], trusting)).stdout).toContain('over TLS')
      const refused = await spawnCli(['list', '--store', store], { cwd: folder })
      expect([refused.status, refused.stderr]).toEqual([
        3,
        expect.stringMatching(/self-signed certificate.*\(NODE_EXTRA_CA_CERTS names/u),
      ])
    } finally {
      child.kill('SIGTERM')
      await once(child, 'close')
    }
  })
})

it('a key is made, listed without its secret, rotated and revoked', async () => {
  const keys = async (
    ...words: readonly string[]
  ): Promise<{ status: number | null; stdout: string; stderr: string }> =>
    await runCli(['keys', ...words, '--json'], { cwd })
  const made: { readonly id: string; readonly key: string } = JSON.parse(
    (await keys('create', '--name', 'agents', '--role', 'append', '--role', 'read', '--scope', 'acme')).stdout,
  )
  expect(made.key).toMatch(/^cl_[0-9a-f]{16}_[\w-]{43}$/u)
  const listed = await keys('list')
  expect(JSON.parse(listed.stdout)).toMatchObject({
    keys: [{ id: made.id, name: 'agents', roles: ['append', 'read'], scope: 'acme' }],
  })
  expect(listed.stdout).not.toContain(made.key.slice(-43))
  // The pepper is in a file next to the directory, readable by its owner only.
  expect((await stat(join(cwd, '.context-ledger.pepper'))).mode & 0o777).toBe(0o600)
  const rotated: { readonly key: string } = JSON.parse((await keys('rotate', made.id)).stdout)
  expect(rotated.key).not.toBe(made.key)
  expect((await keys('revoke', made.id)).status).toBe(0)
  expect((await keys('revoke', made.id)).status).toBe(2)
  expect((await keys('create', '--name', 'x', '--role', 'king')).stderr).toContain('--role must be one of')
})

it('keys for a server want a pepper that every process has', async () => {
  const { status, stderr } = await runCli(
    ['keys', 'create', '--name', 'x', '--role', 'read', '--store', 'postgres://127.0.0.1:1/none'],
    { cwd, env: { CONTEXT_LEDGER_PEPPER: 'short' } },
  )
  expect(status).not.toBe(0)
  expect(stderr).not.toContain('    at ')
})

it('serves until it is told to end, and then ends in order', async () => {
  const child = startCli(['serve', '--port', '0', '--store', 'served'], { cwd })
  let url = ''
  for await (const chunk of child.stdout) {
    url += String(chunk)
    if (url.endsWith('\n')) break
  }
  url = url.trim()
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/u)
  const appended = await fetch(`${url}/v1/conversations/run-7/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ messages: [{ role: 'user', content: 'hello' }] }),
  })
  expect(appended.status).toBe(200)
  expect(await (await fetch(`${url}/`)).text()).toContain('run-7')
  expect(await (await fetch(`${url}/openapi.json`)).json()).toMatchObject({
    openapi: '3.1.0',
    components: {
      schemas: { PolicySettings: { properties: { keepRecent: { type: 'integer', exclusiveMinimum: 0 } } } },
    },
  })
  child.kill('SIGTERM')
  await once(child, 'close')
  expect(child.exitCode).toBe(0)
  const { stdout } = await runCli(['context', 'run-7', '--store', 'served', '--json'], { cwd })
  expect(stdout).toContain('hello')
  await expect(readFile(join(cwd, 'served.pepper'))).rejects.toThrow('ENOENT')
})
