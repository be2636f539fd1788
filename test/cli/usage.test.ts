/** Errors for unknown words: always a suggestion, never the general help. */
import { describe, expect, it } from '@jest/globals'
import { nameMeant } from '../../src/domain/text/known-names.js'
import { commands, groups } from '../../src/interfaces/cli/commands/index.js'
import { parsed } from '../../src/interfaces/cli/parser.js'
import { noSuchCommand } from '../../src/interfaces/cli/usage.js'

const firstOf = (words: string): string => words.split(' ')[0] ?? ''

async function complaint(words: readonly string[]): Promise<string> {
  try {
    await parsed(words)
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
  return ''
}

describe('a command that there is none of', () => {
  it.each([
    [['improt', 'x'], 'there is no command "improt": did you mean `import`?'],
    [['editions', 'adpot'], 'there is no command "editions adpot": did you mean `editions adopt`?'],
    [['adopt', 'x'], 'there is no command "adopt": did you mean `editions adopt`?'],
    [['rebuild'], 'there is no command "rebuild": did you mean `projections rebuild`?'],
    [['run'], 'there is no command "run": did you mean `projections run` or `retention run` or `compaction run`?'],
    [
      ['editions', 'everything'],
      'the commands are editions compare, editions list, editions show, editions adopt, editions revert, editions drop',
    ],
    [['backup'], 'migrate-log --from STORE --to NAME.clog.gz'],
    [['dump'], 'migrate-log --from STORE --to NAME.clog.gz'],
    [['rm', 'x'], 'recorded events are never deleted'],
    [['qqqqqq'], 'there is no command "qqqqqq"'],
  ])('%j', async (words, said) => {
    expect(await complaint(words)).toContain(said)
    // With --help, the message is the same.
    expect(noSuchCommand([...words, '--help'])).toContain(said)
  })

  it('is none of those that there are', () => {
    for (const { words } of commands) expect(noSuchCommand([firstOf(words), '--help'])).toBeUndefined()
    for (const group of groups)
      for (const { words } of group.commands) expect(noSuchCommand([group.word, firstOf(words)])).toBeUndefined()
    for (const words of [['help'], ['completion'], ['--help'], [], ['editions'], ['editions', '--help']])
      expect(noSuchCommand(words)).toBeUndefined()
  })
})

describe('the word that may have been meant', () => {
  it.each([
    ['sample-harbor', 'sample-harbour'],
    ['sample', 'sample-harbour'],
    ['run', undefined],
    ['run-12', 'run-1'],
    ['', undefined],
    ['zebra', undefined],
  ])('%j: %j', (given, meant) => {
    expect(nameMeant(given, ['run-1', 'run-2', 'sample-harbour'])).toBe(meant)
  })
})
