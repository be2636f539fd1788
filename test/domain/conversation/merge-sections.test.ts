/** The sections of several batches as one list for each section. */
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { mergeSections } from '../../../src/domain/conversation/merge-sections.js'
import { NO_SECTIONS, type Sections } from '../../../src/domain/events/index.js'
import { at } from '../../support/builders.js'

const merged = (...sections: readonly Partial<Sections>[]) =>
  mergeSections(
    sections.map((some, number) => ({
      startTime: at(number * 60),
      endTime: at(number * 60 + 30),
      sections: { ...NO_SECTIONS, ...some },
    })),
  )
const texts = (entries: readonly { readonly text: string }[]): string[] => entries.map(({ text }) => text)

describe('open items', () => {
  it('stay until a later batch closes them', () => {
    const open = { openItems: ['Ask Ines about the berth.', 'Write tests for a.ts.'] }
    expect(texts(merged(open, {}).openItems)).toEqual(open.openItems)
    expect(texts(merged(open, {}, { closedItems: ['Wrote the tests for a.ts; all pass.'] }).openItems)).toEqual([
      'Ask Ines about the berth.',
    ])
  })

  it('stay if the batch that has them, or an earlier one, closes the same', () => {
    const item = { openItems: ['Deploy the service to Porto.'] }
    const closed = { closedItems: ['Deployed the service to Porto.'] }
    expect(texts(merged({ ...item, ...closed }).openItems)).toEqual(item.openItems)
    expect(texts(merged(item, closed, item).openItems)).toEqual(item.openItems)
  })

  it('leave if a later batch supersedes them', () => {
    expect(
      texts(
        merged(
          { openItems: ['Migrate the harbour table to Postgres 17.'] },
          { superseded: ['Migrate the harbour table to Postgres 17.'] },
        ).openItems,
      ),
    ).toEqual([])
  })

  it('are shown exactly if no later closed item repeats them', () => {
    const item = fc.constantFrom('Book the berth.', 'Ask Ines.', 'Write tests for a.ts.', 'Review the March plan.')
    const batch = fc.record({ openItems: fc.uniqueArray(item), closedItems: fc.uniqueArray(item) })
    fc.assert(
      fc.property(fc.array(batch, { maxLength: 6 }), (batches) => {
        const expected = new Set(
          batches.flatMap(({ openItems }, number) =>
            openItems.filter((each) => !batches.slice(number + 1).some((later) => later.closedItems.includes(each))),
          ),
        )
        expect(new Set(texts(merged(...batches).openItems))).toEqual(expected)
      }),
    )
  })
})

it('statements accumulate, repetitions once with their newest wording', () => {
  const { constraints, requests } = merged(
    { constraints: ['Use the port 5432.', 'Never touch audit_log'], requests: ['Fix it.'] },
    { constraints: ['use the Port 5432', 'Use the port 5433.'] },
  )
  expect(texts(constraints)).toEqual(['Never touch audit_log', 'use the Port 5432', 'Use the port 5433.'])
  expect(requests[0]).toEqual({ text: 'Fix it.', startTime: at(0), endTime: at(30) })
})

it('work about one file keeps its history, exact repetitions once', () => {
  const work = (description: string) => ({ file: 'a.ts', action: 'edited', description })
  const { completedWork } = merged(
    { completedWork: [work('added the lock'), work('fixed a typo')] },
    { completedWork: [work('removed the lock'), work('Fixed a typo')] },
  )
  expect(completedWork.map(({ description }) => description)).toEqual([
    'added the lock',
    'removed the lock',
    'Fixed a typo',
  ])
})

it('the state and the steps of the newest batch that has any are the current ones', () => {
  const { currentState, earlierState, nextSteps, earlierSteps } = merged(
    { currentState: ['The tests fail.', 'The branch is fix-1.'], nextSteps: ['Read the log.'] },
    { currentState: ['The tests pass.', 'The branch is fix-1.'] },
    { facts: ['A fact.'] },
  )
  expect(texts(currentState)).toEqual(['The tests pass.', 'The branch is fix-1.'])
  expect(currentState[0]?.endTime).toBe(at(90))
  expect(texts(earlierState)).toEqual(['The tests fail.'])
  expect(texts(nextSteps)).toEqual(['Read the log.'])
  expect(earlierSteps).toEqual([])
})

it('a superseded statement leaves its section and is listed as superseded', () => {
  const { facts, superseded } = merged(
    { facts: ['The deadline of the harbour contract is 1 May.', 'Ines owns the berth.'] },
    {
      facts: ['The deadline of the harbour contract is 3 June.'],
      superseded: ['The deadline of the harbour contract is 1 May.'],
    },
  )
  expect(texts(facts)).toEqual(['Ines owns the berth.', 'The deadline of the harbour contract is 3 June.'])
  expect(texts(superseded)).toEqual(['The deadline of the harbour contract is 1 May.'])
})
