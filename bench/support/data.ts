/**
 * Published conversations, read from their directory and never copied: the directory in CONTEXT_LEDGER_DATA, or
 * `shared/data` next to this repository. Without it, the figures that need it are skipped.
 */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './root.js'

const sharedData = join(root, '..', 'shared', 'data')

/** The folder, or undefined. */
export const dataFolder: string | undefined = [process.env['CONTEXT_LEDGER_DATA'], sharedData].find(
  (folder) => folder !== undefined && folder !== '' && existsSync(folder),
)

export const NO_DATA = 'no folder of conversations: CONTEXT_LEDGER_DATA names one'

export interface DataConversation {
  readonly group: string
  readonly id: string
  readonly hasQuestions: boolean
  readonly messages: readonly Readonly<Record<string, unknown>>[]
}

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a header or a message; the ledger parses it, and says what is wrong
const parsed = (line: string): Record<string, unknown> => JSON.parse(line) as Record<string, unknown>

/** Every conversation of the folder, one at a time. */
export function* conversationsOf(folder: string): Generator<DataConversation> {
  for (const group of readdirSync(folder).toSorted()) {
    if (!statSync(join(folder, group)).isDirectory()) continue
    const files = readdirSync(join(folder, group)).toSorted()
    for (const file of files) {
      if (!file.endsWith('.jsonl') || /\.(questions|sessions|compactions)\.jsonl$/u.test(file)) continue
      const [header, ...messages] = readFileSync(join(folder, group, file), 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map(parsed)
      yield {
        group,
        id: String(header?.['id']),
        hasQuestions: files.includes(file.replace('.jsonl', '.questions.jsonl')),
        messages,
      }
    }
  }
}
