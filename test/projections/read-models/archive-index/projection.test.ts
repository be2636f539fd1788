/** The rows of the archive index after each event. */
import { describe, expect, test } from '@jest/globals'
import { foldRows } from '../../../../projections/engine/fold.js'
import { archiveIndex, searchedText } from '../../../../projections/read-models/archive-index/projection.js'
import type { Row } from '../../../../projections/engine/projection.js'
import type { Event } from '../../../../src/domain/events/index.js'
import {
  appended,
  archived,
  at,
  configured,
  pinned,
  prunedBy,
  recorded,
  resummarized,
} from '../../../support/builders.js'

const rowsOf = async (table: string, ...events: readonly Event[]): Promise<readonly Row[]> =>
  foldRows(archiveIndex, await recorded('c', events)).get(table) ?? []

describe('the archive index', () => {
  test('has one row for each message, which later events do not change', async () => {
    const before = await rowsOf(
      'archive_messages',
      configured(),
      appended('m1', { content: 'cats and a cat', name: 'Ada' }),
    )
    expect(before).toMatchObject([
      {
        conversation_id: 'c',
        revision: 1,
        message_id: 'm1',
        author: 'user ada',
        created_at: at(0),
        length: 2,
        repeated: 1,
        text: 'cats and a cat',
      },
    ])
    const after = await rowsOf(
      'archive_messages',
      configured(),
      appended('m1', { content: 'cats and a cat', name: 'Ada' }),
      pinned('m1'),
      archived('b1', ['m1']),
      prunedBy({ b1: ['m1'] }),
    )
    expect(after).toEqual(before)
  })

  test('accepts text that Postgres would refuse', async () => {
    const [row] = await rowsOf('archive_messages', configured(), appended('m1', { content: 'a\0b \ud800' }))
    expect(row?.['text']).toBe('ab \ufffd')
  })

  test('the name of an author cannot break the line format in which the rows are read', async () => {
    const [row] = await rowsOf('archive_messages', configured(), appended('m1', { name: 'A\tb\nc d' }))
    expect(row?.['author']).toMatch(/^user [a-z ]*$/)
  })

  test('sources of a condensed batch stay as provenance, inactive, and can become active again', async () => {
    const rows = await rowsOf(
      'archive_batches',
      configured(),
      appended('m1'),
      appended('m2'),
      archived('b1', ['m1']),
      archived('b2', ['m2']),
      resummarized('b3', ['b1', 'b2']),
    )
    expect(rows.map(({ batch_id, terms, message_ids }) => [batch_id, terms === null, message_ids])).toEqual([
      ['b1', false, '["m1"]'],
      ['b2', false, '["m2"]'],
      ['b3', false, '[]'],
    ])
    const states = await rowsOf(
      'archive_batch_states',
      configured(),
      appended('m1'),
      appended('m2'),
      archived('b1', ['m1']),
      archived('b2', ['m2']),
      resummarized('b3', ['b1', 'b2']),
    )
    expect(states.map(({ batch_id, active }) => [batch_id, active])).toEqual([
      ['b1', false],
      ['b2', false],
      ['b3', true],
    ])
    expect(rows[2]).toMatchObject({ text: 'summary of b3', source_batch_ids: '["b1","b2"]' })
  })

  test('a scope that was set once does not change', async () => {
    expect(await rowsOf('archive_conversations', configured({ scope: 'tenant' }), configured())).toEqual([
      { conversation_id: 'c', scope: 'tenant' },
    ])
    expect(await rowsOf('archive_conversations', configured())).toEqual([{ conversation_id: 'c', scope: null }])
  })

  test('a message is found by its text parts and its tool calls', () => {
    const calls = [
      { id: 'c1', type: 'function', function: { name: 'look_up', arguments: '{"city":"Oslo"}' } },
      { id: 'c2', type: 'custom' },
    ]
    expect(searchedText([{ type: 'text', text: 'One' }, { type: 'image_url' }], calls)).toBe(
      'One\n[image_url]\nlook_up {"city":"Oslo"}',
    )
    expect(searchedText(null)).toBe('')
  })
})
