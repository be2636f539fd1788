/** Effects of settings: a database for another log in the environment, an unknown model, a file without a context. */
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runImport } from '../../src/interfaces/cli/import/import-files.js'
import { search } from '../../src/interfaces/cli/commands/search.js'
import { loadConfig } from '../../src/interfaces/cli/config/load-config.js'
import { readArgs } from '../../src/interfaces/cli/command-args.js'
import { sentenceOfProblem } from '../../src/library/problem.js'
import { openLedger } from '../../src/index.js'
import { longTest } from '../support/length.js'

jest.setTimeout(120_000)
let cwd: string
beforeAll(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'context-ledger-settings-'))
})
afterAll(async () => {
  await rm(cwd, { recursive: true, force: true })
})

describe('settings', () => {
  it('a database of the environment is for a log in KurrentDB, and stands in nobody else’s way; a flag is meant for this very call', async () => {
    const env = { CONTEXT_LEDGER_DATABASE: 'postgres://one/views' }
    const load = (flags: Record<string, unknown>) => loadConfig({ flags, env, cwd }, { writes: false })
    expect((await load({ store: 'postgres://one/log' })).database).toBeUndefined()
    expect((await load({ store: 'folder' })).database).toBeUndefined()
    expect((await load({ store: 'esdb://one:2113' })).database).toBe('postgres://one/views')
    expect((await load({ store: 'postgres://one/log', database: 'postgres://one/views' })).database).toBe(
      'postgres://one/views',
    )
  })

  longTest(
    'the window of a model that nobody knows is told once a conversation, and not where it is given',
    async () => {
      const warnings: string[] = []
      const ledger = await openLedger({
        store: 'memory',
        policy: { model: 'acme-9' },
        onProblem: (problem) => {
          warnings.push(sentenceOfProblem(problem))
        },
      })
      for (const content of ['one', 'two', 'three']) await ledger.append('a', { role: 'user', content })
      expect(warnings).toEqual([
        'the window of the model "acme-9" is not known: 128,000 tokens are assumed; modelMaxTokens (--model-max-tokens) sets it',
      ])
      await ledger.append('b', { role: 'user', content: 'one' }, { policy: { modelMaxTokens: 9_000 } })
      await ledger.append('c', { role: 'user', content: 'one' }, { policy: { model: 'gpt-4o' } })
      expect(warnings).toHaveLength(1)
      await ledger.close()
    },
  )

  longTest('a file of queries that is a folder is told, and is no bug', async () => {
    await (await openLedger({ store: join(cwd, 'searched') })).close()
    await expect(search.run(readArgs({ store: join(cwd, 'searched'), queries: cwd }))).rejects.toMatchObject({
      name: 'LedgerError',
      message: expect.stringMatching(/^--queries .* cannot be read: /u),
    })
  })

  longTest('an import that makes no context is an error with its name, and what is recorded stays', async () => {
    const file = join(cwd, 'large.jsonl')
    await writeFile(
      file,
      `${JSON.stringify({ role: 'system', content: 'Be careful. '.repeat(2_000) })}\n${JSON.stringify({ role: 'user', content: 'hello' })}\n`,
    )
    const out = jest.spyOn(process.stdout, 'write').mockImplementation(() => true)
    try {
      const importing = runImport(
        { store: join(cwd, 'ledger'), 'model-max-tokens': '2000' },
        {
          files: [file],
          json: false,
        },
      )
      await expect(importing).rejects.toMatchObject({
        name: 'LedgerError',
        kind: 'LeadingTooLarge',
        message: expect.stringMatching(
          /^large is recorded but has no context: the leading system messages .*--model-max-tokens/u,
        ),
      })
    } finally {
      out.mockRestore()
    }
  })
})
