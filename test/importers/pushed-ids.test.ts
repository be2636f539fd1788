/** Ids from content that another machine made, in the items that it sends. */
import { expect, it } from '@jest/globals'
import { plainContentId } from '../../src/application/importers/content-id.js'
import { markedContentId, withOwnIds } from '../../src/application/importers/pushed-ids.js'
import type { TranscriptItem } from '../../src/application/importers/transcript.js'

const marked = markedContentId((text) => text.replace('hunter2', '[secret:password:0000]'))
const [one, two] = [marked('the password is hunter2'), marked('another text')]
const where = { file: 'a.json', path: `messages[0] ${two}` }
const items: TranscriptItem[] = [
  { kind: 'conversation', sourceId: one, parent: { sourceId: two, how: 'fork' }, title: two, where },
  {
    kind: 'message',
    sourceId: `${one}-3`,
    part: 0,
    answerId: two,
    body: { role: 'user', content: `quotes ${two}` },
    where,
  },
  {
    kind: 'compaction',
    sourceId: `compaction-${one}`,
    trigger: 'auto',
    summary: { kind: 'text', text: two },
    context: [
      { kind: 'message', sourceId: two },
      { kind: 'inserted', body: { role: 'user', content: two } },
    ],
    unknown: [one],
    where,
  },
  { kind: 'withdrawal', sourceIds: [one, 'by the program'], where },
]

it('become the ledger’s own in every field with an id, and nowhere else', () => {
  const plain = plainContentId('the password is [secret:password:0000]')
  const withIds = items.map((item) => withOwnIds(item, (id) => (id === plain ? 'ONE' : 'TWO')))
  expect(withIds).toEqual([
    { ...items[0], sourceId: 'ONE', parent: { sourceId: 'TWO', how: 'fork' } },
    { ...items[1], sourceId: 'ONE-3', answerId: 'TWO' },
    {
      ...items[2],
      sourceId: 'compaction-ONE',
      context: [
        { kind: 'message', sourceId: 'TWO' },
        { kind: 'inserted', body: { role: 'user', content: two } },
      ],
      unknown: ['ONE'],
    },
    { ...items[3], sourceIds: ['ONE', 'by the program'] },
  ])
})

it('do not depend on a secret, so that none confirms a guess of it', () => {
  expect(marked('the password is hunter2')).toBe(marked('the password is [secret:password:0000]'))
})
