/** The branch on which the steps of a call act, before git has named it in a result. */
import type { CallStep } from './call-step.js'

/** The call works in another folder, whose branch is not known. */
const ELSEWHERE = /(?:^|[\s;&|("'])(?:cd|pushd|popd|chdir|set-location)\s|\s-C\s|--(?:git-dir|work-tree)\b/iu

const CHECKS_OUT = /^git\s+(?:checkout|switch)\s+(?:-\S+\s+)*(?<branch>[^\s-]\S*)(?:\s+-|\s*$)/u

/** The branch that a step checks out; undefined if it checks out none, or files. */
const checkedOut = ({ text }: CallStep): string | undefined => CHECKS_OUT.exec(text)?.groups?.['branch']?.toLowerCase()

/**
 * Names the branch of each step that acts on the one that is checked out.
 * @param given the arguments of the call
 * @param branch the one that is checked out before the call; undefined if that is not known
 */
export function withBranch(steps: readonly CallStep[], given: string, branch: string | undefined): readonly CallStep[] {
  let now = ELSEWHERE.test(given) ? undefined : branch?.toLowerCase()
  return steps.map((step) => {
    now = checkedOut(step) ?? now
    return step.branches?.length === 0 && now !== undefined ? { ...step, branches: [now] } : step
  })
}
