"""`et verify RUN --against mapi`: the proof that the platform has what the files of a run have.

::

    against → points → windows        every point of every attempt, a part of the steps at a time
          ├→ attempts                 when each began, from which step on, how it ended
          ├→ lines                    the lines of the log, in their order
          ├→ documents                configuration, environment, params, pins
          ├→ spans                    the spans, in any order
          └→ media                    images, figures and tables, by the hash of their bytes
                → differences         what is not the same: all counted, the first ones kept

`against` looks for the run on the platform and asks each part; it makes nothing there. `windows` reads a
metrics file, whose rows become points by what a push makes of them (`mapi.follow.rows`), and `points`
reads the same steps of each series on the platform. `attempts`, `documents`, `media`, `spans` and `lines` compare what goes with
them, the last ones by what `sequences` says of two that should be the same. `json_values` are the same where the platform's JSON
says so. `differences` counts all that is not;
what the platform has no place for is told in its notes, and is none.

Memory holds a window of the file and the points of one series in it, whatever the run's size.
"""
