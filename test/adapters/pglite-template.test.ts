/**
 * The first opening of a folder loads the template that was made when the program was built, and does without where
 * there is none that is whole.
 */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openFolder, type OpenOptions } from '../../src/adapters/pglite/sql.js'
import { readTemplate } from '../../src/adapters/pglite/template.js'
import { openLedger } from '../../src/index.js'
import { longTest } from '../support/length.js'

let home: string
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'ledger-'))
})
afterEach(async () => {
  await rm(home, { recursive: true, force: true })
})

interface Looked {
  /** The engine draws one for each database that it creates, so two that were loaded have the same. */
  readonly created: unknown
  readonly settings: unknown
  readonly sorted: unknown
  readonly said: readonly string[]
}

/** Opens a folder twice. */
async function look(folder: string, options: OpenOptions = {}): Promise<Looked> {
  const said: string[] = []
  for (let time = 0; time < 2; time++) {
    const db = await openFolder(folder, { ...options, onWait: (sentence) => said.push(sentence) })
    try {
      if (time === 0) await db.query('create table words (word text primary key)')
      if (time === 0)
        await db.query('insert into words select unnest($1::text[])', [
          ['b', 'a', 'B', 'ä', 'Z', 'z', 'é', '漢', '🛶', '_', '1', '10', '2', 'a b', 'ab', ''],
        ])
      else {
        const [system] = await db.query<{ created: string }>(
          'select system_identifier::text as created from pg_control_system()',
        )
        // What a name says of the folder it lies in differs.
        const settings = await db.query(
          "select name, setting from pg_settings where name not in ('config_file', 'data_directory', 'hba_file', 'ident_file') order by name",
        )
        const databases = await db.query(
          'select datname, encoding, datcollate, datctype, datlocprovider, datcollversion, rolname from pg_database join pg_roles on pg_roles.oid = datdba order by datname',
        )
        return {
          created: system?.created,
          settings: [settings, databases],
          sorted: await db.query('select word, upper(word), lower(word) from words order by word'),
          said,
        }
      }
    } finally {
      await db.close()
    }
  }
  throw new Error('not reached')
}

/** The template that the tests' own start has built. */
async function built(): Promise<string> {
  const names = (await readdir('dist')).filter((name) => name.endsWith('.template'))
  expect(names).toEqual([expect.stringMatching(/^pglite-\d+\.\d+\.\d+.*\.template$/u)])
  return join('dist', names[0] ?? '')
}

describe('a new folder', () => {
  longTest('is loaded from the template, says once that it is made, and is what the engine itself makes', async () => {
    const loaded = await look(join(home, 'loaded'))
    expect(loaded.said).toEqual([`making a new ledger in ${join(home, 'loaded')}: once, and a few seconds`])
    const damaged = join(home, 'damaged')
    const template = await readFile(await built())
    template[template.length >> 1] = (template[template.length >> 1] ?? 0) ^ 1
    await writeFile(damaged, template)
    const again = await look(join(home, 'again'))
    const made = await look(join(home, 'made'), { template: damaged })
    expect(again.created).toBe(loaded.created)
    expect(made.created).not.toBe(loaded.created)
    expect(loaded.sorted).toEqual(made.sorted)
    expect(loaded.settings).toEqual(made.settings)
    expect(made.said).toHaveLength(1)
  })

  longTest('says through the library too that it is made, and once', async () => {
    const store = join(home, 'ledger')
    const said: string[] = []
    for (let time = 0; time < 2; time++)
      await (await openLedger({ store, onOpening: (sentence) => said.push(sentence) })).close()
    expect(said).toEqual([`making a new ledger in ${store}: once, and a few seconds`])
  })
})

describe('a template', () => {
  test('is read as it was written, and taken for none where it is missing, cut short or damaged at any place', async () => {
    const whole = await readFile(await built())
    expect((await readTemplate())?.size).toBeGreaterThan(1_000_000)
    const file = join(home, 'template')
    expect(await readTemplate(file)).toBeUndefined()
    expect(await readTemplate(home)).toBeUndefined()
    for (const length of [0, 1, 31, 32, 33, whole.length >> 1, whole.length - 1]) {
      await writeFile(file, whole.subarray(0, length))
      expect([length, await readTemplate(file)]).toEqual([length, undefined])
    }
    for (const place of [0, 31, 32, 40, whole.length >> 1, whole.length - 1]) {
      const damaged = Buffer.from(whole)
      damaged[place] = (damaged[place] ?? 0) ^ 0x10
      await writeFile(file, damaged)
      expect([place, await readTemplate(file)]).toEqual([place, undefined])
    }
  })
})
