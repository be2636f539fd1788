/** How long an agent takes from a compaction to its next edit. */
import { describe, expect, it } from '@jest/globals'
import { NOTE_BEGINNING } from '../../src/domain/values/recall-note.js'
import { forgottenOf } from '../../src/application/losses/forgotten.js'
import { totalForgotten } from '../../src/application/losses/totals.js'
import { createTalk, forgetting } from './report-input.js'

const talk = createTalk()
const edit = () => talk.work('Edit', { file_path: '/srv/app/export.ts', old_string: 'a', new_string: 'b' }, 'done')
const read = (name: string) => talk.work('Read', { file_path: `/srv/app/${name}.ts` }, `export const ${name} = 1`)

const before = [talk.user('Repair the export.'), ...read('one'), ...edit()]
const reportAfter = (after: typeof before) => forgottenOf(forgetting({ removed: before, after }))

describe('the recovery after a compaction', () => {
  it('counts the calls and tokens until a file is edited, and the same at the beginning', () => {
    const { recovery } = reportAfter([...read('one'), ...read('two'), ...read('three'), ...edit(), ...read('four')])
    expect(recovery).toMatchObject({ edit: { calls: 3 }, fresh: { calls: 1 }, hasNote: false })
    expect(recovery.edit?.tokens).toBeGreaterThan(recovery.fresh?.tokens ?? Infinity)
  })

  it('is open if no edit follows, and an edit that failed is none', () => {
    const failed = talk.work('Edit', { file_path: '/srv/app/export.ts' }, 'no such text', true)
    expect(reportAfter([...read('one'), ...failed]).recovery.edit).toBeUndefined()
  })

  it('knows the compactions after which a note reached the agent, but not by a note after the edit', () => {
    const note = talk.user(`${NOTE_BEGINNING} after its context was compacted.`)
    const noted = reportAfter([note, ...read('one'), ...edit()])
    const late = reportAfter([...read('one'), ...read('two'), ...edit(), note])
    expect([noted.recovery.hasNote, late.recovery.hasNote]).toEqual([true, false])
    const { recovery } = totalForgotten([noted, late, reportAfter([])].map((report) => ({ keys: {}, report }))).all
    expect(recovery).toMatchObject({
      withNote: { compactions: 1, edits: 1, calls: 1 },
      withoutNote: { compactions: 2, edits: 1, calls: 2 },
      fresh: { compactions: 3, edits: 3, calls: 1 },
    })
  })
})
