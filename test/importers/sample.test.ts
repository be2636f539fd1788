/** The skeleton of a file keeps its structure and none of its texts. */
import { describe, expect, it } from '@jest/globals'
import { lineSkeleton, skeleton } from '../../src/application/importers/sample.js'
import { writtenTranscripts } from '../support/written/index.js'

const valuesIn = (content: string): readonly unknown[] => {
  const values = content.split('\n').flatMap((line): unknown[] => {
    try {
      return [JSON.parse(line)]
    } catch {
      return []
    }
  })
  return values
}

describe('a skeleton', () => {
  it('has the keys and types of a record, and the words of its kinds only', () => {
    expect(
      skeleton({
        type: 'user',
        uuid: '5b0e2f6a-1111-4222-8333-444455556666',
        timestamp: '2026-10-01T08:00:00.000Z',
        cwd: '/srv/quay',
        message: {
          role: 'user',
          content: [
            { type: 'text', text: 'Berth twelve is free' },
            { type: 'text', text: 'and thirteen is not.' },
          ],
        },
        payload: '{"secret":"berth twelve"}',
        count: 12,
        isMeta: true,
        model: null,
      }),
    ).toEqual({
      type: 'user',
      uuid: '<uuid>',
      timestamp: '<time>',
      cwd: '<path, 9 characters>',
      message: { role: 'user', content: [{ '<2 times>': { type: 'text', text: '<20 characters>' } }] },
      payload: { '<json in a text>': { secret: '<12 characters>' } },
      count: '<number>',
      isMeta: true,
      model: null,
    })
  })

  it('has no keys that somebody chose: paths, ids, and the names in a map', () => {
    expect(skeleton({ 'src/quay.ts': 1, 'anna@example.org': 2, call_4711: 3 })).toEqual({
      '<11 characters>': '<number>',
      '<16 characters>': '<number>',
      '<id, 9 characters>': '<number>',
    })
    expect(skeleton({ people: { anna: { age: 1 }, bert: { age: 2 }, carl: { age: 3 } } })).toEqual({
      people: { '<3 keys>': { age: '<number>' } },
    })
  })

  it('of a line of text has its marks', () => {
    expect(lineSkeleton('_**User (2026-10-07)**_: tar the deck')).toBe('_**xxxx (0000-00-00)**_: xxx xxx xxxx')
  })

  it.each(
    writtenTranscripts
      .filter(
        ({ files, isDatabase }) =>
          isDatabase !== true && Object.values(files).some((content) => valuesIn(content).length > 0),
      )
      .map((transcript, at) => [`${transcript.program} ${String(at)}`, transcript] as const),
  )('of %s has none of its texts', (_name, { files, context }) => {
    const contents = Object.values(files).map((content) =>
      JSON.stringify(valuesIn(content).map((value) => skeleton(value))),
    )
    for (const text of context.has) expect(contents.filter((each) => each.includes(text))).toEqual([])
  })
})
