/** The table of tools, and the classification of shell commands. */
import { describe, expect, it } from '@jest/globals'
import { commandOf } from '../../src/domain/tools/shell.js'
import { seemsToRead, shapeOf, TOOL_SHAPES } from '../../src/domain/tools/tool-shapes.js'

describe('the table of tools', () => {
  it('has each name once, in small letters and digits', () => {
    const names = TOOL_SHAPES.flatMap((shape) => shape.names)
    expect(new Set(names).size).toBe(names.length)
    expect(names.filter((name) => !/^[a-z0-9]+$/u.test(name))).toEqual([])
  })

  it.each([
    ['Read', 'read'],
    ['read_file', 'read'],
    ['Bash', 'shell'],
    ['exec_command', 'shell'],
    ['run_shell_command', 'shell'],
    ['Grep', 'search'],
    ['search_file_content', 'search'],
    ['list_directory', 'search'],
    ['google_web_search', 'web'],
    ['apply_patch', 'write'],
    ['replace_in_file', 'write'],
    ['AskUserQuestion', 'ask'],
    ['ask_followup_question', 'ask'],
    ['Task', 'agent'],
    ['BashOutput', 'wait'],
    ['todowrite', 'note'],
  ])('%s is a tool to %s', (name, use) => {
    expect(shapeOf(name)?.use).toBe(use)
  })

  it('an unknown tool reads if its name says so', () => {
    expect(
      ['get_user_details', 'searchDirectFlight', 'lookup'].map((name) => [shapeOf(name), seemsToRead(name)]),
    ).toEqual([
      [undefined, true],
      [undefined, true],
      [undefined, true],
    ])
    expect(['book_reservation', 'update_list', 'javascript_tool', 'think'].map(seemsToRead)).toEqual([
      false,
      false,
      false,
      false,
    ])
  })
})

describe('a command', () => {
  it.each([
    ['cat src/a.ts', 'files', ['src/a.ts']],
    ["cd /quay && sed -n '10,40p' src/a.ts", 'files', ['src/a.ts']],
    ['head -n 20 "docs/a b.md" | nl', 'files', ['docs/a b.md']],
    ['nl -ba src/a.ts | sed -n 1,20p', 'files', ['src/a.ts']],
    ['cat a.ts b.ts', 'files', []],
    ['rg -n "moor|berth" src | head -5', 'files', []],
    ['node --version', 'files', []],
    ['git show abc123:src/a.ts', 'files', []],
    ['git log --oneline -5', 'state', []],
    ['ls -la 2>/dev/null', 'state', []],
    ['npm test 2>&1 | tail -20', 'state', []],
    ['git branch -D old', 'acts', []],
    ['git stash', 'acts', []],
    ["sed -i 's/a/b/' src/a.ts", 'acts', []],
    ['cat > src/a.ts <<EOF\nx\nEOF', 'acts', []],
    ['echo x >> notes.md', 'acts', []],
    ['find . -name x -delete', 'acts', []],
    ['FOO=1 timeout 5 npm install left', 'acts', []],
    ['sleep 20 && gh run view', 'waits', []],
    ['curl -s http://localhost:3000/health', 'waits', []],
    ['', 'acts', []],
  ])('%s hangs on %s', (command, answer, files) => {
    expect(commandOf(command)).toMatchObject({ answer, files })
  })

  it('is equal in another folder, with other spaces and with redirected errors', () => {
    const keys = ['npm test', 'cd /quay && npm test', '  npm   test 2>&1 ', 'cd "/a b"; npm test'].map(
      (command) => commandOf(command).key,
    )
    expect(new Set(keys)).toEqual(new Set(['npm test']))
  })

  it('lists the files that it may change', () => {
    expect(commandOf("cd src\nsed -i 's|a|b|' core/a.ts\ngit add other.ts").changes).toContain('core/a.ts')
    expect(commandOf("cd src\nsed -i 's|a|b|' core/a.ts\ngit add other.ts").changes).not.toContain('other.ts')
    expect(commandOf('cp src/a.ts src/b.ts').changes).toEqual(['src/b.ts'])
  })
})
