/** Host lists that chat APIs reject: `compress` records and compacts them, and shows them in a valid form. */
import { expect, it } from '@jest/globals'
import type { MessageInput } from '../../src/domain/values/message.js'
import { createVerify } from '../../src/application/audit/verify.js'
import { problemsOfEveryApi } from '../support/chat-validity.js'
import { checkScripted } from '../support/check-scripted.js'
import { nameless, SMALL, talk } from '../support/conversations.js'
import { createHarness, type Harness } from '../support/harness.js'
import { noRows } from '../support/row-differences.js'

const calling = (...ids: string[]): MessageInput => ({
  role: 'assistant',
  content: null,
  tool_calls: ids.map((id) => ({ id, type: 'function', function: { name: 'look', arguments: '{}' } })),
})
const result = (id: string, content: string): MessageInput => ({ role: 'tool', tool_call_id: id, content })
const user = (content: string): MessageInput => ({ role: 'user', content })

const talkOf = (length: number): MessageInput[] => talk(length).map(nameless)
const systemPrompt: MessageInput = { role: 'system', content: 'Be brief.' }

async function problemsIn(harness: Harness): Promise<readonly unknown[]> {
  return (await createVerify({ log: harness.log, checkRequest: checkScripted, rowCheck: () => noRows })()).problems
}

const LISTS: Readonly<Record<string, { readonly head: readonly MessageInput[]; readonly orphans: number }>> = {
  'a result whose call is not in the list': { head: [user('Go.'), result('gone', 'booked'), user('And?')], orphans: 1 },
  'a result at the head, after the host dropped its call': {
    head: [result('cut', 'booked'), user('And?')],
    orphans: 1,
  },
  'two results of one call': { head: [calling('a'), result('a', 'one'), result('a', 'two'), user('And?')], orphans: 1 },
  'a result before its call': { head: [user('Go.'), result('a', 'early'), calling('a'), user('And?')], orphans: 1 },
  'a call in the middle that is never answered': { head: [user('Go.'), calling('a'), user('And?')], orphans: 0 },
  'two calls with the same id in different messages': {
    head: [user('Go.'), calling('a'), result('a', 'one'), calling('a'), result('a', 'two'), user('And?')],
    orphans: 0,
  },
}

it.each(Object.entries(LISTS))('%s is recorded, shown and compacted', async (_name, { head, orphans }) => {
  const harness = createHarness({ policy: SMALL })
  const list = [systemPrompt, ...head]
  const first = await harness.compress(list)
  expect(first.error).toBeUndefined()
  const late = first.history.filter(
    ({ role, content }) => role === 'user' && typeof content === 'string' && content.startsWith('[late result of'),
  )
  expect(late).toHaveLength(orphans)
  expect(problemsOfEveryApi(first.history)).toEqual([])
  // One host keeps its own list, the other one keeps the returned list.
  const returnedListHost = createHarness({ policy: SMALL })
  let returned = (await returnedListHost.compress(list)).history
  let ownList: readonly MessageInput[] = list
  for (const message of talkOf(60)) {
    ownList = [...ownList, message]
    const ownResult = await harness.compress(ownList)
    const returnedResult = await returnedListHost.compress([...returned, message])
    returned = returnedResult.history
    for (const { history, error } of [ownResult, returnedResult]) {
      expect(error).toBeUndefined()
      expect(problemsOfEveryApi(history)).toEqual([])
    }
  }
  for (const each of [harness, returnedListHost]) {
    expect(await each.eventsOf('MessageAppended')).toHaveLength(ownList.length)
    expect(await each.eventsOf('MessagesWithdrawn')).toHaveLength(0)
    expect((await each.eventsOf('MessagesPruned')).length).toBeGreaterThan(0)
    expect(await problemsIn(each)).toEqual([])
  }
})

it('an append of a result without its call is still an error', async () => {
  const harness = createHarness({ policy: SMALL })
  await expect(harness.appended([result('gone', 'booked')])).rejects.toThrow(/ToolResultWithoutCall/u)
})
