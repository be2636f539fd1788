/** The events stored under `test/fixtures/stored-events/`: one file for each version of each type, never edited. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import type { StoredEvent } from '../../src/ports/event-store.js'

const FOLDER = join('test', 'fixtures', 'stored-events')

const fixtureSchema = z.strictObject({
  stream: z.string(),
  revision: z.string().transform(Number),
  id: z.string(),
  type: z.string(),
  data: z.string(),
  metadata: z.string(),
})

/** The names of all fixtures, sorted: the type and version of an event, `MessageAppended-v1`. */
export const fixtureNames = (): string[] =>
  readdirSync(FOLDER)
    .map((file) => file.replace(/\.json$/u, ''))
    .toSorted()

/** Reads the fixture of that name. */
export const readStoredEvent = (name: string): StoredEvent => ({
  ...fixtureSchema.parse(JSON.parse(readFileSync(join(FOLDER, `${name}.json`), 'utf8'))),
  position: 0,
})
