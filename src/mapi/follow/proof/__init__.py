"""`et verify RUN --against mapi`: the proof that the platform has what the files of a run have.

::

    against → points → windows        every point of every attempt, a part of the steps at a time
          ├→ attempts                 when each began, from which step on, how and when it ended
          ├→ lines                    the lines of the log, in their order
          ├→ documents                configuration, environment, params, pins
          ├→ spans                    the spans, in any order
          ├→ media                    images, figures and tables, by the hash of their bytes
          └→ facts                    status, beginning, end, name, note, tags
                → differences         what is not the same: all counted, the first ones kept

`against` looks for the run on the platform and asks each part; it makes nothing there. `windows` reads a
metrics file, whose rows become points by what a push makes of them (`mapi.follow.rows`), and `points`
reads the same steps of all series on the platform, one series after the other. `attempts`, `documents`, `media`, `spans`, `lines` and `facts` compare what goes with
them, lines by the `lineup` that they should come in. `json_values` are the same where the platform's JSON
says so. `unread` names the files that cannot be opened, of which nothing is said. `differences` counts all that is not;
what the platform has no place for is told in its notes, and is none.

Memory holds a window of the file and a page of the platform's points, whatever the run's size.
"""
