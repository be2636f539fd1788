/**
 * Comparing rows in a second thread: what it finds is confirmed in this one, which does all the work if no thread can
 * be started.
 */
import { beforeEach, describe, expect, it } from '@jest/globals'
import { createCheckRowsApart, isMuch } from '../../src/application/audit/check-rows.js'
import type { Log } from '../../src/application/recording/load-conversation.js'
import type { CheckRows, RowDifference } from '../../src/ports/row-check.js'
import { createHarness, CONVERSATION } from '../support/harness.js'
import { say } from '../support/conversations.js'

const differs = (conversationId: string, detail: string): RowDifference => ({ conversationId, revision: 1, detail })

describe('rows compared in a second thread', () => {
  let log: Log
  let head: number
  let checkedIds: string[]
  let problems: unknown[]
  let inThread: () => Promise<readonly RowDifference[]>
  const { signal } = new AbortController()

  beforeEach(async () => {
    const harness = createHarness()
    await harness.appended(say(1))
    head = 1_000_000
    log = { ...harness.log, store: { ...harness.log.store, head: () => Promise.resolve(head) } }
    checkedIds = []
    problems = []
    inThread = () => Promise.resolve([])
  })

  const check: CheckRows = async (conversationId, given) =>
    await createCheckRowsApart({
      log,
      here: (id = 'all') => {
        checkedIds.push(`here ${id}`)
        return Promise.resolve([differs(id, 'as it is now')])
      },
      apart: async (id = 'all') => {
        checkedIds.push(`apart ${id}`)
        return await inThread()
      },
      onProblem: (problem) => {
        problems.push(problem)
      },
    })(conversationId, given)

  it('are not worth a thread for a short log, or a short conversation of a long one', async () => {
    expect(await isMuch(log, undefined)).toBe(true)
    expect(await isMuch(log, CONVERSATION)).toBe(false)
    head = 500
    expect(await isMuch(log, undefined)).toBe(false)
  })

  it('need no second check if nothing is found', async () => {
    expect(await check(undefined, signal)).toEqual([])
    expect(checkedIds).toEqual(['apart all'])
  })

  it('are checked again here for each conversation with a difference, once', async () => {
    inThread = () =>
      Promise.resolve([
        differs(CONVERSATION, 'was behind'),
        differs('nobody', 'is in no log'),
        differs(CONVERSATION, 'was behind too'),
      ])
    expect(await check(undefined, signal)).toEqual([
      differs(CONVERSATION, 'as it is now'),
      differs('nobody', 'is in no log'),
    ])
    expect(checkedIds).toEqual(['apart all', `here ${CONVERSATION}`])
  })

  it('are compared here if the thread cannot start, which is reported', async () => {
    const why = new Error('there are no threads')
    inThread = () => Promise.reject(why)
    expect(await check(undefined, signal)).toEqual([differs('all', 'as it is now')])
    expect(checkedIds).toEqual(['apart all', 'here all'])
    expect(problems).toEqual([why])
  })

  it('are not compared here after an abort', async () => {
    const stop = new AbortController()
    inThread = () => {
      stop.abort(new Error('enough'))
      return Promise.reject(new Error('it was ended'))
    }
    await expect(check(undefined, stop.signal)).rejects.toThrow('enough')
    expect(checkedIds).toEqual(['apart all'])
    expect(problems).toEqual([])
  })
})
