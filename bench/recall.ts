/**
 * Does a search find the evidence? Runs every question of the data directory with known evidence, within its
 * conversation. `evidence-recall.mjs` in the neighboring tools directory scores the results, and its plain BM25 is the
 * baseline. The search does not know the wording of the questions.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openLedger, type Ledger, type MessageInput } from '../src/index.js'
import { conversationsOf, dataFolder, NO_DATA } from './support/data.js'
import { reported, type Figure, type Group } from './support/figures.js'

const WANTED: Readonly<Record<string, number>> = { locomo: 0.83, beam: 0.54, 'bfcl-memory': 0.985, madial: 0.53 }
const BIG = 1 << 28

const recallToolOf = (folder: string): string =>
  process.env['CONTEXT_LEDGER_RECALL_TOOL'] ?? join(folder, '..', 'tools', 'evidence-recall.mjs')

function scores(table: string): Map<string, number> {
  return new Map(
    table.split('\n').flatMap((line): [string, number][] => {
      const found = /^(\S+)\s+\d+ questions\s+recall@10 (\S+)$/u.exec(line.trim())
      return found?.[1] === undefined ? [] : [[found[1], Number(found[2])]]
    }),
  )
}

async function fill(ledger: Ledger, folder: string): Promise<void> {
  for (const { id, hasQuestions, messages } of conversationsOf(folder)) {
    if (!hasQuestions) continue
    for (const message of messages) {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `append` parses it
      await ledger.append(id, message as typeof message & MessageInput)
      await ledger.admin.waitForCompaction(id)
    }
  }
}

async function hits(ledger: Ledger, queries: string): Promise<string> {
  const lines: string[] = []
  for (const line of queries.split('\n').filter((each) => each !== '')) {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the tool writes these lines
    const { query, conversationId, limit } = JSON.parse(line) as {
      query: string
      conversationId: string
      limit: number
    }
    const { hits: found } = await ledger.search(query, { conversationId, limit })
    lines.push(JSON.stringify({ hits: found.map(({ messageIds }) => ({ messageIds })) }))
  }
  return `${lines.join('\n')}\n`
}

export const group: Group = {
  title: 'Evidence recall of a search',
  async run(bench) {
    if (dataFolder === undefined) return NO_DATA
    const folder = dataFolder
    const tool = recallToolOf(folder)
    if (!existsSync(tool))
      return 'evidence-recall.mjs is not beside the folder of conversations: CONTEXT_LEDGER_RECALL_TOOL names it'
    const score = (...words: string[]): string =>
      execFileSync(process.execPath, [tool, ...words], { encoding: 'utf8', maxBuffer: BIG })
    const queries = score('queries', folder)
    const baseline = scores(score('baseline', folder))
    const figures: Figure[] = []
    const work = mkdtempSync(join(tmpdir(), 'bench-recall-'))
    try {
      for (const window of [128_000, 8_000]) {
        bench.say(`at ${window.toLocaleString('en')} tokens`)
        const location = await bench.createPlace('recall')
        const ledger = await openLedger({ store: location.store, policy: { modelMaxTokens: window } })
        await fill(ledger, folder)
        const file = join(work, `hits-${String(window)}.jsonl`)
        writeFileSync(file, await hits(ledger, queries))
        await ledger.close()
        await location.remove()
        for (const [name, recall] of scores(score('score', folder, file))) {
          const least = WANTED[name]
          const figure = reported(
            `recall@10, ${name}, imported at ${window.toLocaleString('en')} tokens`,
            recall,
            (value) => value.toFixed(3),
            { name: 'plain BM25', value: baseline.get(name) ?? Number.NaN },
          )
          figures.push(
            least === undefined ? figure : { ...figure, target: `>= ${String(least)}`, met: recall >= least },
          )
        }
      }
    } finally {
      rmSync(work, { recursive: true, force: true })
    }
    return figures
  },
}
