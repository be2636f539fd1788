/**
 * The first opening of a folder loads the template from the build. If the template is missing or damaged, the engine
 * creates the database.
 */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openFolder, type OpenOptions } from '../../src/adapters/pglite/sql.js'
import { readTemplate } from '../../src/adapters/pglite/database-template.js'
import { openLedger } from '../../src/index.js'
import { longTest } from '../support/length.js'

globalThis.unpacksTemplate = true

let home: string
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'ledger-'))
})
afterEach(async () => {
  await rm(home, { recursive: true, force: true })
})

interface Inspection {
  /** The engine draws one for each database that it creates, so databases from the same template share it. */
  readonly systemId: unknown
  readonly settings: unknown
  readonly sorted: unknown
  readonly reports: readonly string[]
}

/** Opens a folder twice. */
async function inspect(folder: string, options: OpenOptions = {}): Promise<Inspection> {
  const reports: string[] = []
  for (let time = 0; time < 2; time++) {
    const db = await openFolder(folder, { ...options, onWait: (sentence) => reports.push(sentence) })
    try {
      if (time === 0) await db.query('create table words (word text primary key)')
      if (time === 0)
        await db.query('insert into words select unnest($1::text[])', [
          ['b', 'a', 'B', 'ä', 'Z', 'z', 'é', '漢', '🛶', '_', '1', '10', '2', 'a b', 'ab', ''],
        ])
      else {
        const [system] = await db.query<{ id: string }>('select system_identifier::text as id from pg_control_system()')
        // Settings with paths differ by folder.
        const settings = await db.query(
          "select name, setting from pg_settings where name not in ('config_file', 'data_directory', 'hba_file', 'ident_file') order by name",
        )
        const databases = await db.query(
          'select datname, encoding, datcollate, datctype, datlocprovider, datcollversion, rolname from pg_database join pg_roles on pg_roles.oid = datdba where datname = current_database()',
        )
        return {
          systemId: system?.id,
          settings: [settings, databases],
          sorted: await db.query('select word, upper(word), lower(word) from words order by word'),
          reports,
        }
      }
    } finally {
      await db.close()
    }
  }
  throw new Error('not reached')
}

/** The template that the start of the test run has built. */
async function built(): Promise<string> {
  const names = (await readdir('dist')).filter((name) => name.endsWith('.template'))
  expect(names).toEqual([expect.stringMatching(/^pglite-\d+\.\d+\.\d+.*\.template$/u)])
  return join('dist', names[0] ?? '')
}

describe('a new folder', () => {
  longTest(
    'is loaded from the template, reports its creation once, and equals one that the engine creates',
    async () => {
      const loaded = await inspect(join(home, 'loaded'))
      expect(loaded.reports).toEqual([`making a new ledger in ${join(home, 'loaded')}: once, and a few seconds`])
      const damaged = join(home, 'damaged')
      const template = await readFile(await built())
      template[template.length >> 1] = (template[template.length >> 1] ?? 0) ^ 1
      await writeFile(damaged, template)
      const second = await inspect(join(home, 'second'))
      const created = await inspect(join(home, 'created'), { template: damaged })
      expect(second.systemId).toBe(loaded.systemId)
      expect(created.systemId).not.toBe(loaded.systemId)
      expect(loaded.sorted).toEqual(created.sorted)
      expect(loaded.settings).toEqual(created.settings)
      expect(created.reports).toHaveLength(1)
    },
  )

  longTest('also reports its creation through the library, once', async () => {
    const store = join(home, 'ledger')
    const reports: string[] = []
    for (let time = 0; time < 2; time++)
      await (await openLedger({ store, onOpening: (sentence) => reports.push(sentence) })).close()
    expect(reports).toEqual([`making a new ledger in ${store}: once, and a few seconds`])
  })
})

describe('a template', () => {
  test('is ignored if it is missing, truncated or damaged at any byte', async () => {
    const whole = await readFile(await built())
    expect((await readTemplate())?.size).toBeGreaterThan(1_000_000)
    const file = join(home, 'template')
    expect(await readTemplate(file)).toBeUndefined()
    expect(await readTemplate(home)).toBeUndefined()
    for (const length of [0, 1, 31, 32, 33, whole.length >> 1, whole.length - 1]) {
      await writeFile(file, whole.subarray(0, length))
      expect([length, await readTemplate(file)]).toEqual([length, undefined])
    }
    for (const offset of [0, 31, 32, 40, whole.length >> 1, whole.length - 1]) {
      const damaged = Buffer.from(whole)
      damaged[offset] = (damaged[offset] ?? 0) ^ 0x10
      await writeFile(file, damaged)
      expect([offset, await readTemplate(file)]).toEqual([offset, undefined])
    }
  })
})
