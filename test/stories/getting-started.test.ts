/** The commands of the first page of the documentation, in its order: each does what its comment says. */
import { expect, it } from '@jest/globals'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { runCli } from '../support/cli.js'
import { shellLinesOf, wordsOf } from '../support/shell-lines.js'
import { keepEngines } from '../support/kept-engines.js'

keepEngines()

const PAGE = 'docs/getting-started.md'
const lines = shellLinesOf(PAGE)
/** Commands on the sample. The page serves until it is stopped, and the sessions of the last section are the reader's. */
const commands = lines
  .slice(
    0,
    lines.findIndex((line) => line.includes('--discover')),
  )
  .filter((line) => line.startsWith('npx context-ledger ') && !line.startsWith('npx context-ledger page'))

it('run without an error, one after the other', async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'getting-started-'))
  try {
    writeFileSync(join(cwd, 'policy.json'), '{ "keepRecent": 10 }')
    const sample = resolve('examples/sample-conversation.jsonl')
    // As `npm start` imports it.
    const start = ['import', sample, '--conversation', 'sample-harbour', '--model-max-tokens', '2400', '--buffer', '4']
    const results: [string, number | null, string][] = []
    for (const words of [start, ...commands.map((line) => wordsOf(line).slice(2))]) {
      const { status, stderr } = await runCli(words, { cwd })
      if (status !== 0) results.push([words.join(' '), status, stderr])
    }
    expect(commands.length).toBeGreaterThan(12)
    expect(results).toEqual([])
  } finally {
    rmSync(cwd, { recursive: true, force: true })
  }
})
