/** The ways in which Korean states a rule for the work of the other speaker. */
import { written, type Language } from './way.js'

const SPEAKER = /(?:저는|나는|내가|제가|우리는)[^.!?]{0,40}$/u

export const KOREAN: Language = {
  letters: /\p{Script=Hangul}/u,
  ways: [
    written('prohibition: 하지 마', /(?:하|쓰|지우|바꾸|만들|건드리|넣|고치)지 ?(?:마|말)|금지/gu, {
      unless: /(?:걱정|염려|포기|부담 ?갖)$/u,
    }),
    written(
      'obligation: 반드시',
      /(?:반드시|항상|꼭|절대로?)[^.!?]{0,60}?(?:세요|십시오|할 ?것|해 ?줘|해라|마라|말 ?것|해야)/gu,
      { unless: SPEAKER },
    ),
    written(
      'obligation: 해야 합니다; cap: 이하로; style: 선호',
      /해야 ?(?:합니다|한다|해요|됩니다|함)|(?:만|으로만) ?(?:사용|써)|(?:이하|이내)로 ?(?:해|작성|제한)|보다 [^.!?]{1,30}?(?:선호|더 좋)/gu,
      { unless: SPEAKER },
    ),
  ],
}
