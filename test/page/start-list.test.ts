/** The list of the start page: headings by time, and sub-agents and branches with the conversation that began them. */
import { expect, it } from '@jest/globals'
import { html } from 'hono/html'
import type { ConversationSummary } from '../../src/library/ledger.js'
import { Conversations, type ListQuery } from '../../src/interfaces/page/views/conversations.js'
import { turnName, turnsText } from '../../src/interfaces/page/views/places.js'

const NOW = new Date('2026-08-20T12:00:00Z')

const row = (conversationId: string, lastMessageAt: string, parentId?: string): ConversationSummary => ({
  conversationId,
  scope: undefined,
  ...(parentId === undefined ? {} : { parentId }),
  revision: 3,
  startedAt: lastMessageAt,
  lastRecordedAt: lastMessageAt,
  lastMessageAt,
  compactions: 0,
  messages: 2,
  liveMessages: 2,
  liveTokens: 20,
  messagesCompressed: 0,
})

async function rendered(rows: readonly ConversationSummary[], sort: ListQuery['sort'] = 'updated'): Promise<string> {
  const none = { grep: undefined, person: undefined, program: undefined, project: undefined, scope: undefined }
  const query = { ...none, since: undefined, until: undefined, verified: undefined, sort, page: 0 }
  const detailsOf = (): undefined => undefined
  const props = { query, list: { conversations: rows }, now: NOW, more: false, detailsOf, latestOf: detailsOf }
  return String(await html`${Conversations(props)}`)
}

const headings = (text: string): string[] =>
  [...text.matchAll(/<h2 class="day">([^<]*)/gu)].map(([, name = '']) => name)

it('days of the last week have a heading each, and older days that of their month', async () => {
  const days = ['2026-08-20', '2026-08-19', '2026-08-14', '2026-08-13', '2026-08-01', '2026-07-30']
  const text = await rendered(days.map((day) => row(day, `${day}T08:00:00.000Z`)))
  expect(headings(text)).toEqual(['Today', 'Yesterday', 'Friday, 14 August 2026', 'August 2026', 'July 2026'])
})

it('a sub-agent is in the fold of its conversation, also one of a sub-agent; in other orders each has its place', async () => {
  const rows = [
    row('part-of-part', '2026-08-20T10:00:00.000Z', 'part'),
    row('part', '2026-08-20T09:00:00.000Z', 'whole'),
    row('other', '2026-08-20T08:30:00.000Z', 'not-listed'),
    row('whole', '2026-08-20T08:00:00.000Z'),
  ]
  const ids = (text: string): string[] =>
    [
      ...text.matchAll(/class="entry" data-row="\/row\?c=([\w-]+)"|(<details><summary>2 sub-agents and branches)/gu),
    ].map(([, id]) => id ?? 'fold')
  expect(ids(await rendered(rows))).toEqual(['whole', 'fold', 'part-of-part', 'part', 'other'])
  expect(ids(await rendered(rows, 'lost'))).toEqual(['part-of-part', 'part', 'other', 'whole'])
  const circle = [row('a', '2026-08-20T10:00:00.000Z', 'b'), row('b', '2026-08-20T09:00:00.000Z', 'a')]
  expect(ids(await rendered(circle)).toSorted()).toEqual(['a', 'b'])
})

it('an event before the first message of a user is at the beginning, not in turn 0', () => {
  expect([turnName(0), turnName(7), turnName(0, 'since'), turnName(7, 'since')]).toEqual([
    'the beginning',
    'turn 7',
    'since the beginning',
    'since turn 7',
  ])
  expect(turnsText((_c, revision) => revision, 'c', 0, 3)).toBe('the beginning to turn 3')
})
