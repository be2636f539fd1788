/** Where history may be cut. */
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { callGroups } from '../../../src/domain/conversation/call-groups.js'
import { legalCuts } from '../../../src/domain/compaction/cut-rules.js'
import type { MessageInput } from '../../../src/domain/values/message.js'
import { histories } from '../../support/arbitraries.js'
import { answering, calling, say, talk } from '../../support/conversations.js'
import { messageOf } from '../../support/harness.js'

const cuts = (messages: readonly MessageInput[], chunkSize = 3): number[] =>
  legalCuts(messages.map(messageOf), chunkSize)

describe('a cut', () => {
  it('falls between any two messages, at the start and at the end', () => {
    expect(cuts(talk(3))).toEqual([0, 1, 2, 3])
    expect(cuts([])).toEqual([0])
  })

  it('never separates a call from its results', () => {
    expect(cuts([say(0), calling('c', ['x', 'y']), answering('rx', 'x'), answering('ry', 'y'), say(1)])).toEqual([
      0, 1, 4, 5,
    ])
  })

  it('nor from a late one: what lies between stays with them', () => {
    expect(
      cuts([calling('c', ['x', 'y']), answering('rx', 'x'), say(0), say(1), answering('ry', 'y'), say(2)]),
    ).toEqual([0, 5, 6])
  })

  it('waits for an open call while fewer than chunkSize messages follow it', () => {
    expect(cuts([say(0), calling('c', ['x']), say(1), say(2)])).toEqual([0, 1])
    expect(cuts([say(0), calling('c', ['x']), say(1), say(2), say(3)])).toEqual([0, 1, 2, 3, 4, 5])
  })

  it('breaks none of the rules in any history', () => {
    fc.assert(
      fc.property(histories(40), fc.integer({ min: 1, max: 10 }), (history, chunkSize) => {
        const messages = history.map(messageOf)
        const { groups } = callGroups(messages)
        for (const cut of legalCuts(messages, chunkSize)) {
          for (const group of groups) {
            expect(group.results.filter((at) => group.call < cut && cut <= at)).toEqual([])
            expect(group.open.length > 0 && group.call < cut && messages.length - 1 - group.call < chunkSize).toBe(
              false,
            )
          }
        }
      }),
    )
  })
})

describe('a result', () => {
  it('belongs to the last call before it that has its id and waits', () => {
    const messages = [
      calling('one', ['x']),
      answering('r1', 'x'),
      calling('two', ['x']),
      answering('r2', 'x'),
      answering('r3', 'x'),
    ].map(messageOf)
    const { groups, strays } = callGroups(messages)
    expect(groups.map(({ call, results, open }) => [call, results, open.length])).toEqual([
      [0, [1], 0],
      [2, [3], 0],
    ])
    expect([...strays]).toEqual([4])
  })
})
