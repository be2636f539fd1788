/** Secrets on the command line: a warning for each, and files and variables as alternatives. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadConfig } from '../../src/interfaces/cli/config/load-config.js'
import { secretsIn } from '../../src/interfaces/cli/config/secrets.js'
import { runCli } from '../support/cli.js'
import { keepEngines } from '../support/kept-engines.js'

keepEngines()

let cwd: string
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'secrets-'))
  writeFileSync(join(cwd, 'key'), 'sk-from-a-file\n')
  writeFileSync(join(cwd, 'address'), 'postgres://me:pw@db/ledger\n')
})
afterEach(() => {
  rmSync(cwd, { recursive: true, force: true })
})

const load = (flags: object, env: Readonly<Record<string, string>> = {}): ReturnType<typeof loadConfig> =>
  loadConfig({ flags: { ...flags }, env, cwd }, { writes: false })

describe('a warning', () => {
  it.each([
    [{ 'api-key': 'sk-1' }, ['--api-key is', 'use --api-key @FILE or set CONTEXT_LEDGER_API_KEY']],
    [{ 'service-key': 'cl_1' }, ['--service-key is', 'CONTEXT_LEDGER_SERVICE_KEY']],
    [{ store: 'postgres://me:pw@db/ledger' }, ['the password in --store is', 'CONTEXT_LEDGER_STORE']],
    [{ database: 'postgresql://me:p%40w@db' }, ['the password in --database is', 'CONTEXT_LEDGER_DATABASE']],
    [{ from: 'esdb://admin:changeit@node1:2113' }, ['the password in --from is', '--from @FILE']],
    [{ upstream: 'https://me:pw@api.example.com' }, ['the password in --upstream is', 'without it']],
  ])('names the flag and what to do: %j', (flags, parts) => {
    const [sentence = '', ...more] = secretsIn(flags)
    expect(more).toEqual([])
    for (const part of [...parts, 'in the process list']) expect(sentence).toContain(part)
    expect(sentence).not.toMatch(/sk-1|cl_1|pw|changeit/u)
  })

  it('is not written for what holds no secret', () => {
    for (const flags of [
      {},
      { 'api-key': '@key', 'service-key': '@key', store: '@address' },
      { store: '.context-ledger', database: 'postgres://me@db/ledger' },
      { store: 'https://ledger.example.com:7411/a:b@c', from: 'backup.clog.gz' },
      { text: 'postgres://me:pw@db' },
    ])
      expect(secretsIn(flags)).toEqual([])
  })

  it('goes to standard error, without the secret', async () => {
    const words = ['search', 'x', '--store', 'ledger', '--api-key', 'sk-on-the-line']
    const { stdout, stderr } = await runCli(words, { cwd })
    expect(stderr).toMatch(/^warning: --api-key is visible to every user of this machine/mu)
    expect(stdout + stderr).not.toContain('sk-on-the-line')
  })
})

describe('@FILE', () => {
  it('is read for keys and addresses, from a flag, a variable or the config file', async () => {
    expect(await load({ 'api-key': '@key', store: '@address' })).toMatchObject({
      apiKey: 'sk-from-a-file',
      store: 'postgres://me:pw@db/ledger',
    })
    expect(await load({}, { CONTEXT_LEDGER_SERVICE_KEY: '@key' })).toMatchObject({ serviceKey: 'sk-from-a-file' })
    // A path in the config file is relative to that file.
    mkdirSync(join(cwd, 'conf'))
    writeFileSync(join(cwd, 'conf', 'ledger.json'), JSON.stringify({ apiKey: '@../key' }))
    expect(await load({ config: 'conf/ledger.json' })).toMatchObject({ apiKey: 'sk-from-a-file' })
  })

  it('leaves variables of other programs as they are', async () => {
    expect(await load({}, { OPENAI_API_KEY: '@key' })).toMatchObject({ apiKey: '@key' })
  })

  it('that is missing, empty or of several lines is refused by the name of the flag', async () => {
    writeFileSync(join(cwd, 'empty'), '\n')
    writeFileSync(join(cwd, 'lines'), 'a\nb\n')
    await expect(load({ 'api-key': '@nowhere' })).rejects.toThrow(/--api-key names .*nowhere, which does not exist/u)
    for (const name of ['empty', 'lines'])
      await expect(load({ 'api-key': `@${name}` })).rejects.toThrow(
        `--api-key names ${name}, which does not contain exactly one line`,
      )
  })

  it('holds the addresses of migrate-log', async () => {
    writeFileSync(join(cwd, 'from'), 'no-such.clog.gz\n')
    const { status, stderr } = await runCli(['migrate-log', '--from', '@from', '--to', 'copy'], { cwd })
    expect(status).not.toBe(0)
    expect(stderr).toContain('no-such.clog.gz')
  })
})
