/** The candidates that the flags of `evaluate` make, and the commands that adopt them. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadConfig } from '../../src/interfaces/cli/config/load-config.js'
import { adoptCommand, candidatesOf, type TypedCandidate } from '../../src/interfaces/cli/evaluate/candidates.js'
import { readArgs } from '../../src/interfaces/cli/command-args.js'
import { openLedger, type Ledger } from '../../src/index.js'

let folder: string
let ledger: Ledger
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'context-ledger-candidates-'))
  await writeFile(join(folder, 'mine.txt'), 'Sum up:\n{messages}\n')
  await writeFile(join(folder, 'empty.txt'), ' \n')
  await writeFile(join(folder, 'small.json'), JSON.stringify({ chunkSize: 4 }))
  await writeFile(
    join(folder, 'prices.json'),
    JSON.stringify({ 'model-a': { promptPerMillion: 1, completionPerMillion: 2, currency: 'EUR' } }),
  )
  ledger = await openLedger({ store: 'memory' })
})
afterAll(async () => {
  await ledger.close()
  await rm(folder, { recursive: true, force: true })
})

const KEYS = ['CONTEXT_LEDGER_API_KEY_API_EXAMPLE_COM', 'CONTEXT_LEDGER_API_KEY_OTHER_EXAMPLE_8443']
beforeEach(() => {
  for (const key of KEYS) process.env[key] = `secret of ${key}`
})
afterEach(() => {
  for (const key of KEYS) Reflect.deleteProperty(process.env, key)
})

async function candidates(
  flags: Readonly<Record<string, unknown>>,
  env: Readonly<Record<string, string>> = {},
): Promise<readonly TypedCandidate[]> {
  const path = (name: unknown): unknown => (name === 'built-in' ? name : join(folder, String(name)))
  const prompt = flags['prompt']
  const resolvedFlags = { ...flags, ...(Array.isArray(prompt) ? { prompt: prompt.map(path) } : {}) }
  const config = await loadConfig(
    { flags: { ...resolvedFlags, strategy: undefined, model: undefined, prompt: undefined }, env, cwd: folder },
    { writes: false },
  )
  return await candidatesOf(readArgs(resolvedFlags), config, ledger)
}
const names = (all: readonly TypedCandidate[]): string[] => all.map(({ name }) => name)

describe('candidates', () => {
  it('are the extractive baseline alone if no model is asked for', async () => {
    expect(names(await candidates({}))).toEqual(['extractive'])
    expect(names(await candidates({}, { OPENAI_MODEL: 'model-a' }))).toEqual(['extractive'])
    const policy = ['chunkSize=10', join(folder, 'small.json')]
    const made = await candidates({ policy })
    expect(made).toEqual([
      {
        name: 'extractive, chunkSize=10',
        summarizer: 'extractive',
        policy: { chunkSize: 10 },
        flags: ['--summarizer', 'extractive', '--policy', 'chunkSize=10'],
      },
      expect.objectContaining({ name: 'extractive, small', policy: { chunkSize: 4 } }),
    ])
  })

  it('are the product of strategies, models, prompts and policies, with the baseline for each policy', async () => {
    const made = await candidates({
      strategy: ['fold-in', 'structured', 'extractive'],
      model: ['model-a', 'model-b@https://api.example.com/v1'],
      prompt: ['built-in', 'mine.txt'],
      policy: ['chunkSize=10', 'chunkSize=40,view=clip-archive'],
      'base-url': 'http://127.0.0.1:9/v1',
      prices: join(folder, 'prices.json'),
    })
    expect(made).toHaveLength(2 + 2 * 2 * 2 * 2)
    expect(names(made).slice(0, 4)).toEqual([
      'extractive, chunkSize=10',
      'extractive, chunkSize=40,view=clip-archive',
      'fold-in, model-a, chunkSize=10',
      'fold-in, model-a, chunkSize=40,view=clip-archive',
    ])
    expect(new Set(names(made)).size).toBe(made.length)
    expect(made.find(({ name }) => name === 'structured, model-b, mine, chunkSize=10')).toEqual({
      name: 'structured, model-b, mine, chunkSize=10',
      summarizer: {
        kind: 'openai',
        strategy: 'structured',
        model: 'model-b',
        baseUrl: 'https://api.example.com/v1',
        apiKey: 'secret of CONTEXT_LEDGER_API_KEY_API_EXAMPLE_COM',
        prompt: { name: 'mine', text: 'Sum up:\n{messages}\n' },
      },
      policy: { chunkSize: 10 },
      flags: [
        '--summarizer',
        'openai',
        '--strategy',
        'structured',
        '--model',
        'model-b',
        '--base-url',
        'https://api.example.com/v1',
        '--prompt',
        join(folder, 'mine.txt'),
        '--policy',
        'chunkSize=10',
      ],
    })
    const [, , priced] = made
    expect(priced).toMatchObject({ price: { currency: 'EUR' }, summarizer: { baseUrl: 'http://127.0.0.1:9/v1' } })
  })

  it('are adopted with the flags that all candidates share', async () => {
    const [made] = await candidates({ 'model-max-tokens': '4000', policy: 'chunkSize=10', persona: 'ada' })
    expect(made?.policy).toEqual({ chunkSize: 10, modelMaxTokens: 4_000 })
    expect(made?.flags.slice(2).join(' ')).toBe('--policy chunkSize=10 --model-max-tokens 4000 --persona ada')
  })

  it('never send the key of one endpoint to another', async () => {
    const [, , other] = await candidates(
      { model: ['model-a', 'model-b@https://other.example:8443/v1'] },
      { CONTEXT_LEDGER_API_KEY: 'configured', CONTEXT_LEDGER_BASE_URL: 'https://api.example.com/v1' },
    )
    expect(other?.summarizer).toMatchObject({ apiKey: 'secret of CONTEXT_LEDGER_API_KEY_OTHER_EXAMPLE_8443' })
    await expect(
      candidates({ model: ['model-b@https://third.example/v1'] }, { CONTEXT_LEDGER_API_KEY: 'configured' }),
    ).rejects.toThrow('the key of third.example is missing: set CONTEXT_LEDGER_API_KEY_THIRD_EXAMPLE')
  })

  it.each<[string, Readonly<Record<string, unknown>>, string]>([
    ['a prompt that is no file', { model: 'm', prompt: ['mien.txt'] }, 'does not exist'],
    ['an empty prompt', { model: 'm', prompt: ['empty.txt'] }, 'empty.txt is empty'],
    ['no model', { strategy: 'fold-in' }, 'no model is configured for the candidates'],
    ['a model without a name', { model: '@https://api.example.com/v1' }, 'has no model name before the address'],
    ['a key in an address', { model: 'm@https://me:key@api.example.com/v1' }, 'the address contains a key'],
    ['a model without effect', { strategy: 'extractive', model: 'm' }, '--model has no effect'],
    ['a prompt without effect', { strategy: 'extractive', prompt: ['mine.txt'] }, '--prompt has no effect'],
    ['two answers to one question', { summarizer: 'extractive', model: 'm' }, '--summarizer extractive excludes'],
    ['an unknown setting', { policy: 'chunkSiz=10' }, 'did you mean chunkSize?'],
    ['a setting of another kind', { policy: 'chunkSize=many' }, 'chunkSize=many: chunkSize'],
    ['a policy that is no file', { policy: 'smal.json' }, 'smal.json'],
  ])('are refused for %s', async (_name, flags, message) => {
    await expect(candidates(flags, { CONTEXT_LEDGER_API_KEY: 'k' })).rejects.toThrow(message)
  })
})

it('a candidate is adopted with the flags that made it, as a shell reads them', () => {
  expect(adoptCommand('e1', ['a b', 'c'], ['--prompt', "it's.txt", '--policy', 'chunkSize=1,view=x'])).toBe(
    String.raw`context-ledger editions adopt e1 --prompt 'it'\''s.txt' --policy 'chunkSize=1,view=x' 'a b' c`,
  )
  expect(adoptCommand('e1', ['-c'], [])).toBe("context-ledger editions adopt e1 -- '-c'")
})
