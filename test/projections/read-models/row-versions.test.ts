/**
 * A read model whose rows change gets a new version, so that the rows of an older ledger are computed again when it is
 * opened. `test/fixtures/read-model-rows.json` has, for each read model, its version and a digest of the changes that
 * each stored event makes. If this test fails, raise the `version` of the read model that it names, and write the file
 * again with `CONTEXT_LEDGER_TEST_WRITE_ROWS=1 npm test -- row-versions`.
 */
import { isLedgerError } from '../../../src/lib/ledger-error.js'
import { describe, expect, it } from '@jest/globals'
import { either as E } from 'fp-ts'
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { changesOf, type Projection } from '../../../projections/engine/projection.js'
import { subjectOf } from '../../../projections/engine/streams.js'
import { projectionsFor } from '../../../projections/index.js'
import { decode } from '../../../src/domain/events/codec.js'
import { fixtureNames, readStoredEvent } from '../../support/stored-events.js'

const FILE = join('test', 'fixtures', 'read-model-rows.json')

const recorded = z
  .record(z.string(), z.object({ version: z.number(), rows: z.record(z.string(), z.string()) }))
  .parse(JSON.parse(readFileSync(FILE, 'utf8')))

function digestOf(projection: Projection, name: string): string {
  const event = decode(readStoredEvent(name))
  if (E.isLeft(event)) throw new Error(event.left.detail)
  try {
    const changes = JSON.stringify(changesOf(projection, event.right))
    return createHash('sha256').update(changes).digest('hex').slice(0, 16)
  } catch (error) {
    if (isLedgerError(error, 'CellRefused')) return 'refused'
    throw error
  }
}

/** Read models read only the streams of conversations and editions. */
const names = fixtureNames().filter((name) => subjectOf(readStoredEvent(name).stream) !== undefined)

const current = Object.fromEntries(
  projectionsFor({ recognizes: 'always' }).map((projection) => [
    projection.name,
    {
      version: projection.version,
      rows: Object.fromEntries(names.map((name) => [name, digestOf(projection, name)])),
    },
  ]),
)

if (process.env['CONTEXT_LEDGER_TEST_WRITE_ROWS'] === '1')
  writeFileSync(FILE, `${JSON.stringify({ ...recorded, ...current }, null, 2)}\n`)

describe('the rows of a read model', () => {
  it.each(Object.keys(current))('%s change only together with its version', (name) => {
    const before = recorded[name]
    const now = current[name]
    expect(now?.version).toBe(before?.version)
    expect(now?.rows).toEqual(before?.rows)
  })
})
