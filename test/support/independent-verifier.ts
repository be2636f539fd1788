/** Runs the verifier of `examples/` in Python, which was written from the documented format alone. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Whether there is a Python to run it. */
export const hasPython = spawnSync('python3', ['--version']).status === 0

// One process for all files: it reads their names from standard input.
const MANY = `
import importlib.util, sys
spec = importlib.util.spec_from_file_location('verifier', 'examples/verify-evidence.py')
verifier = importlib.util.module_from_spec(spec)
spec.loader.exec_module(verifier)
for name in sys.stdin.read().split('\\n'):
    try:
        verifier.verify(open(name, 'rb').read())
        print('valid')
    except Exception as problem:
        print(type(problem).__name__ + ': ' + str(problem).replace('\\n', ' '))
`

/** What it says of each file: `valid`, or the problem. */
export function verifyIndependently(files: readonly (string | Uint8Array)[]): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'evidence-'))
  try {
    const names = files.map((file, at) => {
      const name = join(folder, `${String(at)}.html`)
      writeFileSync(name, file)
      return name
    })
    const { status, stdout, stderr } = spawnSync('python3', ['-c', MANY], {
      input: names.join('\n'),
      encoding: 'utf8',
      maxBuffer: 100_000_000,
    })
    if (status !== 0) throw new Error(stderr)
    return stdout.trimEnd().split('\n')
  } finally {
    rmSync(folder, { recursive: true })
  }
}
