/** Sources of settings, their precedence, and errors for invalid values. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { hostname, tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { settings } from '../../src/interfaces/cli/flags.js'
import { policyFlags } from '../../src/interfaces/cli/policy-flags.js'
import { openLedger } from '../../src/library/compose.js'
import { actorOf } from '../../src/interfaces/cli/config/actor.js'
import { loadConfig, type Config } from '../../src/interfaces/cli/config/load-config.js'
import { policiesOf } from '../../src/interfaces/cli/config/policy-settings.js'
import { pricesOf } from '../../src/interfaces/cli/config/prices.js'
import { personaOf, summarizerOf } from '../../src/interfaces/cli/config/summarizer.js'
import { policySettings } from '../../src/domain/values/policy-settings.js'

let cwd: string
beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'context-ledger-config-'))
})
afterEach(async () => {
  await rm(cwd, { recursive: true, force: true })
})

const load = (flags: Record<string, unknown> = {}, env: Record<string, string> = {}, writes = true): Promise<Config> =>
  loadConfig({ flags, env, cwd }, { writes })
const file = (content: unknown, name = 'context-ledger.config.json'): Promise<void> =>
  writeFile(join(cwd, name), typeof content === 'string' ? content : JSON.stringify(content))

describe('precedence', () => {
  it('takes a flag over the environment over the config file over what everybody shares', async () => {
    const env = { OPENAI_MODEL: 'shared' }
    expect((await load({}, env)).model).toBe('shared')
    await file({ model: 'filed', store: 'kept' })
    expect((await load({}, env)).model).toBe('filed')
    expect((await load({}, { ...env, CONTEXT_LEDGER_MODEL: 'ours' })).model).toBe('ours')
    expect((await load({ model: 'flagged' }, { ...env, CONTEXT_LEDGER_MODEL: 'ours' })).model).toBe('flagged')
    expect((await load()).store).toBe(join(cwd, 'kept'))
  })

  it('takes a flag that is given twice as it was given last, settings of the policy too', async () => {
    await file({ chunkSize: 7 }, 'one.json')
    await file({ chunkSize: 8 }, 'two.json')
    const config = await load({ model: ['first', 'last'], 'keep-recent': ['2', '3'], policy: ['one.json', 'two.json'] })
    expect([config.model, config.policy]).toEqual(['last', { keepRecent: 3, chunkSize: 8 }])
  })

  it('takes a variable without a text as not set', async () => {
    expect((await load({}, { CONTEXT_LEDGER_STORE: '', OPENAI_API_KEY: 'k' })).store).toMatch(/\.context-ledger$/u)
    expect((await load({}, { CONTEXT_LEDGER_API_KEY: '', OPENAI_API_KEY: 'k' })).apiKey).toBe('k')
  })

  it('names who asks: a flag, the environment, else the user at this machine', async () => {
    expect(actorOf(await load({}, { CONTEXT_LEDGER_ACTOR: 'ada' }))).toBe('ada')
    expect(actorOf(await load({ actor: 'night run' }, { CONTEXT_LEDGER_ACTOR: 'ada' }))).toBe('night run')
    expect(actorOf(await load())).toBe(`${userInfo().username}@${hostname()}`)
    for (const [actor, message] of [
      ['', '--actor is empty'],
      ['a\0b', '--actor has a control character'],
      ['x'.repeat(5_000), '--actor is longer than'],
    ] as const)
      await expect(load({ actor })).rejects.toThrow(message)
  })

  it('leaves the address of a server as it is', async () => {
    expect((await load({ store: 'postgres://host/db' })).store).toBe('postgres://host/db')
  })

  it('puts a flag over the policy’s file over the config file, setting by setting', async () => {
    await file({ policy: { keepRecent: 3, chunkSize: 4, buffer: 5 } })
    await file({ chunkSize: 7, buffer: 8 }, 'policy.json')
    expect((await load({ policy: 'policy.json', buffer: '9' })).policy).toEqual({
      keepRecent: 3,
      chunkSize: 7,
      buffer: 9,
    })
    expect((await load({}, {}, false)).policy).toBeUndefined()
  })

  it('does so with each of several files, and without one with the flags alone', async () => {
    const tried = (flags: Record<string, unknown>, paths: string[]) => policiesOf({ flags, env: {}, cwd }, paths)
    await file({ policy: { keepRecent: 3, buffer: 5 } })
    await file({ chunkSize: 7, buffer: 8 }, 'one.json')
    await file({}, 'none.json')
    expect(await tried({ policy: ['one.json', 'none.json'], 'chunk-size': '9' }, ['one.json', 'none.json'])).toEqual([
      { keepRecent: 3, chunkSize: 9, buffer: 8 },
      { keepRecent: 3, chunkSize: 9, buffer: 5 },
    ])
    expect(await tried({ 'chunk-size': '9' }, [])).toEqual([{ keepRecent: 3, chunkSize: 9, buffer: 5 }])
    await file({})
    expect([await tried({}, []), await tried({}, ['none.json'])]).toEqual([[], [{}]])
  })
})

describe('complaints', () => {
  it('refuses a ledger in memory, which would end with its command', async () => {
    await expect(load({ store: 'memory' })).rejects.toThrow(
      '--store is "memory", which would be lost when the command ends',
    )
    await expect(load({ store: 'esdb://host:2113', database: 'memory' })).rejects.toThrow('--database is "memory"')
    expect((await load({ store: './memory' })).store).toBe(join(cwd, 'memory'))
  })

  it('refuses an address without its scheme, of which it would make a folder', async () => {
    for (const store of ['127.0.0.1:7411', 'localhost:7411', 'db.example.org:5432', '[::1]:7411'])
      await expect(load({ store })).rejects.toThrow('--store has no scheme: use http://')
    expect((await load({ store: './localhost:7411' })).store).toBe(join(cwd, 'localhost:7411'))
  })

  it.each(['http:/127.0.0.1:7411', 'postgres:/127.0.0.1/db', 'esdb+discover:/host:2113', 'HTTPS:/host'])(
    'refuses %s, where a slash is missing, of which it would make a folder',
    async (store) => {
      await expect(load({ store })).rejects.toThrow('--store has one slash after the scheme instead of two')
      await expect(openLedger({ store })).rejects.toThrow('has one slash behind its scheme')
      expect((await load({ store: `./${store}` })).store).toBe(join(cwd, store))
      expect((await load({ store: 'C:/ledger' })).store).toContain('C:/ledger')
    },
  )

  it.each([
    [{ nonsense: 1 }, '"nonsense" is no setting'],
    [{ summarizer: 'magic' }, 'context-ledger.config.json: summarizer must be extractive or openai'],
    [{ policy: { keepRecent: 'five' } }, 'policy: keepRecent must be a number'],
    [{ policy: { keepRecents: 5 } }, 'policy: keepRecents is no setting of the policy'],
    [{ timeout: 0 }, 'timeout must be above 0'],
    ['{', 'is no JSON'],
  ])('%j in the config file', async (content, message) => {
    await file(content)
    await expect(load()).rejects.toThrow(message)
  })

  it.each([
    [{ 'keep-recent': 'abc' }, {}, '--keep-recent must be a number; got "abc"'],
    [{ 'window-tokens': '12' }, {}, '--window-tokens is less than 512'],
    [{ 'keep-recent': '0' }, {}, '--keep-recent must be above 0'],
    [{ 'keep-recent': '1.5' }, {}, '--keep-recent must be a whole number'],
    [{ 'context-budget': '2' }, {}, '--context-budget must be 1 or less'],
    [{ 'model-max-tokens': '12' }, {}, '--model-max-tokens must be 256 or more'],
    [{ 'agent-model': 'a\u001bb' }, {}, '--agent-model has a control character'],
    [{ 'agent-model': 'lone \ud800' }, {}, '--agent-model has a lone surrogate'],
    [{ 'agent-model': 'x'.repeat(513) }, {}, '--agent-model is longer than 512 bytes'],
    [{ 'embedding-model': 'a\0b' }, {}, '--embedding-model has a control character'],
    [{}, { CONTEXT_LEDGER_EMBEDDING_MODEL: 'lone \ud800' }, 'CONTEXT_LEDGER_EMBEDDING_MODEL has a lone surrogate'],
    [{}, { OPENAI_MODEL: 'x'.repeat(513) }, 'OPENAI_MODEL is longer than 512 bytes'],
    [{ policy: '' }, {}, '--policy needs a file name'],
    [{ config: ' ' }, {}, '--config needs a file name'],
    [{}, { CONTEXT_LEDGER_BASE_URL: 'ftp://x' }, 'CONTEXT_LEDGER_BASE_URL is not an http or https address'],
    [{ config: 'gone.json' }, {}, 'does not exist'],
    [{ policy: 'gone.json' }, {}, 'does not exist'],
  ])('%j and %j', async (flags, env, message) => {
    await expect(load(flags, env)).rejects.toThrow(message)
  })
})

describe('the summarizer', () => {
  it('is the extractive one where nothing is set, whatever the environment holds for others', async () => {
    expect(await summarizerOf(await load({}, { OPENAI_API_KEY: 'k', OPENAI_MODEL: 'm' }))).toBe('extractive')
    await expect(summarizerOf(await load({ model: 'm' }))).rejects.toThrow('--summarizer openai')
  })

  it('has its model, its key and a prompt of its own', async () => {
    await file('Sum up: {messages}', 'mine.txt')
    const config = await load(
      { summarizer: 'openai', prompt: 'mine.txt', timeout: '1.5' },
      { OPENAI_MODEL: 'm', CONTEXT_LEDGER_API_KEY: 'k' },
    )
    expect(await summarizerOf(config)).toEqual({
      kind: 'openai',
      model: 'm',
      apiKey: 'k',
      timeoutMs: 1500,
      prompt: { name: 'mine', text: 'Sum up: {messages}' },
    })
    await expect(summarizerOf(await load({ summarizer: 'openai' }))).rejects.toThrow('OPENAI_MODEL')
  })

  it('refuses a prompt without a text, naming the file', async () => {
    await file(' \n', 'empty.txt')
    await expect(summarizerOf(await load({ summarizer: 'openai', model: 'm', prompt: 'empty.txt' }))).rejects.toThrow(
      /empty\.txt is empty/u,
    )
  })

  it.each(['docker-compose.yml', '.env.example'])('is passed to the workers of %s whole', async (name) => {
    const content = await readFile(name, 'utf8')
    const variables = settings
      .filter(({ group }) => group === 'Summarizer:')
      .flatMap(({ env, fallbackEnv }) => [env, ...(fallbackEnv === undefined ? [] : [fallbackEnv])])
    expect(
      variables.filter(
        (variable) => !content.includes(name === '.env.example' ? `\n${variable}=` : `${variable}: \${${variable}:-`),
      ),
    ).toEqual([])
  })

  it('is passed to the service of docker-compose.yml too, with the processes that compact', async () => {
    const content = await readFile('docker-compose.yml', 'utf8')
    const service = /^ {2}service:\n(?: {4}.*\n)+/mu.exec(content)?.[0] ?? ''
    expect(service).toContain('<<: [*worker-environment, *summarizer-environment]')
    expect(service).toContain('CONTEXT_LEDGER_WORKERS: ${CONTEXT_LEDGER_WORKERS:-}')
  })

  it('reads a persona from a file', async () => {
    await file('a harbour master\n', 'who.txt')
    expect(await personaOf(await load({ persona: '@who.txt' }))).toBe('a harbour master')
    expect(await personaOf(await load({ persona: 'a pilot' }))).toBe('a pilot')
  })
})

describe('prices', () => {
  const price = { promptPerMillion: 0.15, completionPerMillion: 0.6, currency: 'USD' }

  it('come from the file that a flag, the environment or the config file names; there are none by default', async () => {
    expect(await pricesOf(await load())).toEqual({})
    await file({ m: price }, 'prices.json')
    expect(await pricesOf(await load({ prices: 'prices.json' }))).toEqual({ m: price })
    expect(await pricesOf(await load({}, { CONTEXT_LEDGER_PRICES: 'prices.json' }))).toEqual({ m: price })
    await file({ prices: 'prices.json' })
    expect(await pricesOf(await load())).toEqual({ m: price })
  })

  it.each([
    ['[]', /prices\.json: must be an object/u],
    ['{', /prices\.json is no JSON/u],
    ['{"m":{"promptPerMillion":1,"completionPerMillion":2}}', /prices\.json: m\.currency is missing/u],
  ])('%s: names the file and the field', async (content, message) => {
    await file(content, 'prices.json')
    await expect(pricesOf(await load({ prices: 'prices.json' }))).rejects.toThrow(message)
  })

  it('that are missing are told by what names them', async () => {
    await expect(pricesOf(await load({}, { CONTEXT_LEDGER_PRICES: 'gone.json' }))).rejects.toThrow(
      /CONTEXT_LEDGER_PRICES names .*gone\.json, which does not exist/u,
    )
  })

  it('of the library are checked before anything is opened', async () => {
    await expect(
      openLedger({ store: join(cwd, 'ledger'), prices: { m: { ...price, promptPerMillion: -1 } } }),
    ).rejects.toThrow('prices.m.promptPerMillion must be 0 or more')
  })
})

describe('keys', () => {
  it('are a folder relative to the place of the setting, or an address of a vault', async () => {
    expect((await load({ keys: 'k' })).keys).toBe(join(cwd, 'k'))
    const address = 'vault+https://v.example.org/transit'
    expect((await load({}, { CONTEXT_LEDGER_KEYS: address })).keys).toBe(address)
  })

  it('with a wrong address are an error that names the source', async () => {
    await expect(load({ keys: 'vault+http://v.example.org/transit' })).rejects.toThrow(/--keys would send keys/u)
    await expect(load({}, { CONTEXT_LEDGER_KEYS: 'vault:x' })).rejects.toThrow(/CONTEXT_LEDGER_KEYS has the unknown/u)
    await file({ keys: 'vault+https://v' })
    await expect(load()).rejects.toThrow(/config\.json: keys must end with the path/u)
  })
})

describe('flags of the policy', () => {
  it('has one for each setting except lists of patterns, and leaves --model to the summarizer', () => {
    const flags = policyFlags()
    const { secretPatterns: _patterns, secretAllow: _allow, ...single } = policySettings
    expect(flags.map(({ key }) => key)).toEqual(Object.keys(single))
    expect(flags.find(({ key }) => key === 'model')?.flag).toBe('agent-model')
    expect(flags.find(({ key }) => key === 'maxSummaryTokens')?.flag).toBe('max-summary-tokens')
    expect(flags.find(({ key }) => key === 'view')?.choices).toEqual([
      'working-state',
      'clip-archive',
      'session-summary',
    ])
  })
})
