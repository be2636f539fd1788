/** The names of conversations from message files without a header: one for each file, however its path is spelled. */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { ConversationNames } from '../../src/interfaces/cli/import/conversation-names.js'
import { planImport } from '../../src/interfaces/cli/import/import-plan.js'
import { importMessageFile } from '../../src/interfaces/cli/import/message-file.js'
import { openLedger, type Ledger } from '../../src/index.js'
import { runsOf } from '../support/length.js'

const top = mkdtempSync(join(tmpdir(), 'names-'))
let ledger: Ledger
beforeAll(async () => {
  ledger = await openLedger({ store: 'memory' })
})
afterAll(async () => {
  await ledger.close()
  rmSync(top, { recursive: true })
})

/** A file of messages in a new directory with this name. Returns its path. */
function fileIn(folder: string, name: string, text: string): string {
  const path = join(folder, name)
  mkdirSync(folder, { recursive: true })
  writeFileSync(
    path,
    ['same beginning', text].map((content) => `${JSON.stringify({ role: 'user', content })}\n`).join(''),
  )
  return path
}

let links = 0
const link = (target: string, extension: string): string => {
  const path = join(top, `link-${String((links += 1))}${extension}`)
  symlinkSync(target, path)
  return path
}

const SPELLINGS: Readonly<Record<string, (path: string) => string>> = {
  absolute: (path) => path,
  relative: (path) => relative(process.cwd(), path),
  'with dots': (path) => `${dirname(path)}/./../${path.slice(dirname(dirname(path)).length + 1)}`,
  'its directory': (path) => dirname(path),
  'its directory, relative': (path) => relative(process.cwd(), dirname(path)),
  'a link to it': (path) => link(path, '.jsonl'),
  'a link to its directory': (path) => link(dirname(path), ''),
  'through a link to its directory': (path) => join(link(dirname(path), ''), path.slice(dirname(path).length)),
}

/** Imports these paths in one run. Returns the ids of the conversations. */
async function importRun(paths: readonly string[]): Promise<readonly string[]> {
  const names = new ConversationNames(ledger)
  const { files } = await planImport(paths, undefined)
  const ids: string[] = []
  for (const { path } of files) {
    const imported = await importMessageFile(ledger, path, { names }, () => undefined, new AbortController().signal)
    ids.push(imported?.conversationId ?? '')
  }
  return ids
}

async function textsOf(id: string): Promise<readonly unknown[]> {
  const texts: unknown[] = []
  for await (const event of ledger.log(id)) if (event.type === 'MessageAppended') texts.push(event.data.content)
  return texts
}

let cases = 0

it('one file is one conversation, and two files are two, in whatever runs and spellings', async () => {
  const anImport = fc.record({ file: fc.nat({ max: 2 }), spelling: fc.constantFrom(...Object.keys(SPELLINGS)) })
  const runs = fc.array(fc.array(anImport, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 4 })
  await fc.assert(
    fc.asyncProperty(runs, async (planned) => {
      const name = `chat-${String((cases += 1))}`
      const files = [0, 1, 2].map((each) => fileIn(join(top, name, String(each), 'x'), `${name}.jsonl`, String(each)))
      const ids = new Map<number, string>()
      for (const run of planned) {
        const paths = run.map(({ file, spelling }) => SPELLINGS[spelling]?.(files[file] ?? '') ?? '')
        const imported = [...new Set(await importRun(paths))]
        for (const id of imported) {
          const texts = await textsOf(id)
          expect(texts).toEqual(['same beginning', expect.stringMatching(/^[012]$/u)])
          const file = Number(texts[1])
          expect(ids.get(file) ?? id).toBe(id)
          ids.set(file, id)
        }
        expect(imported).toHaveLength(new Set(run.map(({ file }) => file)).size)
      }
      expect([...ids.values()][0]).toBe(name)
      expect(new Set(ids.values()).size).toBe(ids.size)
      for (const id of [...ids.values()].slice(1)) expect(id).toMatch(new RegExp(`^${name}-[0-9a-f]{8}$`, 'u'))
    }),
    { numRuns: runsOf(100) },
  )
})

it('a dry run names them as the import does', async () => {
  const paths = ['a', 'b'].map((folder) => fileIn(join(top, 'dry', folder), 'dry.jsonl', folder))
  const names = new ConversationNames(undefined)
  const dryRun = [await names.find(paths[0] ?? ''), await names.find(paths[1] ?? '')].map(({ id }) => id)
  expect(await importRun(paths)).toEqual(dryRun)
})

it('a conversation that no import recorded is continued by the file with its name', async () => {
  await ledger.append('mine', { id: 'm0', role: 'user', content: 'before' })
  const path = fileIn(join(top, 'own'), 'mine.jsonl', 'of the file')
  expect(await importRun([path])).toEqual(['mine'])
  expect(await textsOf('mine')).toEqual(['before', 'same beginning', 'of the file'])
})
